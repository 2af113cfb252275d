/** A schema that cannot be used. The message says what is wrong, where (a JSON Pointer into the schema), and a fix. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  /** The location in the schema; `''` is the root. In another document, its URI and a `#` precede the pointer. */
  readonly pointer: string

  constructor(message: string, pointer = '', options?: ErrorOptions) {
    super(pointer === '' ? message : `${message} (at ${pointer})`, options)
    this.pointer = pointer
  }
}
