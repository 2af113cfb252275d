import Database from 'libsql'

export interface Note {
  day: string
  text: string
}

/** Notes in a SQLite database; the file is made, with two notes in it, when it is not there. */
export class Notes {
  readonly #database: Database.Database

  /** @param path A file, or `:memory:`. */
  constructor(path: string) {
    this.#database = new Database(path)
    this.#database.exec('CREATE TABLE IF NOT EXISTS notes (day TEXT PRIMARY KEY, text TEXT NOT NULL)')
    if (this.list().length > 0) return
    this.write({ day: 'today', text: 'Write the README first.' })
    this.write({ day: 'tomorrow', text: 'Then make it true.' })
  }

  list(): Note[] {
    return this.#database.prepare('SELECT day, text FROM notes ORDER BY rowid').all() as Note[]
  }

  read(day: string): string | undefined {
    const found = this.#database.prepare('SELECT text FROM notes WHERE day = ?').get(day) as Note | undefined
    return found?.text
  }

  search(words: string): Note[] {
    return this.list().filter(({ text }) => text.toLowerCase().includes(words.toLowerCase()))
  }

  write({ day, text }: Note): void {
    const write = 'INSERT INTO notes (day, text) VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET text = excluded.text'
    this.#database.prepare(write).run(day, text)
  }
}
