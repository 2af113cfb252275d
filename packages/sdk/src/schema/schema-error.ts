/** A schema that cannot be used: says what is wrong, where it is (a JSON Pointer into the schema) and the way out. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  /** Where in the schema; `''` is its root. Inside another document the pointer follows its URI and a `#`. */
  readonly pointer: string

  constructor(message: string, pointer = '', options?: ErrorOptions) {
    super(pointer === '' ? message : `${message} (at ${pointer})`, options)
    this.pointer = pointer
  }
}
