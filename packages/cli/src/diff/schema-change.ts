/**
 * What happened to the set of values that a schema accepts. `narrower` and `wider` are opposites; `other` means that values were
 * both added and removed, or that it cannot be told; `addition` adds nothing that a client must know; `text` is for people only.
 */
export type Direction = 'narrower' | 'wider' | 'other' | 'addition' | 'text'

/** A difference between two schemas. */
export interface SchemaChange {
  readonly direction: Direction
  /** JSON Pointer into the schema. */
  readonly path: string
  readonly message: string
}

const maxShown = 80

/** Shows a value in a message. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > maxShown ? `${text.slice(0, maxShown - 1)}…` : text
}
