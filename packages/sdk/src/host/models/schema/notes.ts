/** A change that was made to a schema. */
export interface SchemaNote {
  /** Where it was made, as a JSON Pointer into the schema without references; `''` is the root. */
  readonly path: string
  /** What was changed, and why. */
  readonly message: string
}

const maxNotes = 100

/** Collects notes. A hostile schema could cause any number, so only the first are kept. */
export class NoteList {
  readonly #notes: SchemaNote[] = []
  #left = 0

  add(path: string, message: string): void {
    if (this.#notes.length < maxNotes) this.#notes.push({ path: path.slice(0, 500), message })
    else this.#left++
  }

  /** The notes so far. */
  list(): readonly SchemaNote[] {
    if (this.#left === 0) return [...this.#notes]
    return [...this.#notes, { path: '', message: `${this.#left} more changes are not listed` }]
  }
}
