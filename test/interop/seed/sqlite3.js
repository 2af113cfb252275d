import Libsql from 'libsql'

/** As much of the package sqlite3 as the seed uses, on the SQLite of libsql. */
class Database {
  #file
  #opened

  /** The real one opens in the background; errors show at the first use. */
  constructor(file) {
    this.#file = file
  }

  /** Every row, also of statements that give none. */
  all(sql, callback) {
    answer(callback, () => {
      this.#opened ??= new Libsql(this.#file)
      const statement = this.#opened.prepare(sql)
      if (statement.reader) return statement.all()
      statement.run()
      return []
    })
    return this
  }

  close(callback) {
    answer(callback, () => this.#opened?.close())
  }
}

function answer(callback, work) {
  setImmediate(() => {
    let value
    try {
      value = work()
    } catch (error) {
      callback(error)
      return
    }
    callback(null, value)
  })
}

export default { Database }
