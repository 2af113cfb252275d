/** A difference between the definitions of a server that were approved, and those that it sends now. */
export interface DefinitionChange {
  readonly kind: 'added' | 'removed' | 'changed'
  /** What it is about, such as `tool read_file` or `instructions`. */
  readonly what: string
  /** The differences of a changed definition, one per member: `description: "Reads a file" -> "Reads any file"`. */
  readonly details: readonly string[]
}
