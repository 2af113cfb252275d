import Libsql from 'libsql'

/** The part of the package sqlite3 that the seed uses, on top of libsql. */
class Database {
  #file
  #opened

  /** The original opens in the background and reports errors on first use. */
  constructor(file) {
    this.#file = file
  }

  /** Returns all rows, also for statements that return none. */
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
