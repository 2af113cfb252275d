/** Something that a person has to look at. */
export interface Finding {
  /** The path of the file, relative to the migrated folder. */
  readonly file: string
  /** The line in the file before the migration. */
  readonly line: number
  /** What was found, as it is written in the file. */
  readonly found: string
  /** Why it was not rewritten, or not with certainty. */
  readonly reason: string
  /** What to do about it. */
  readonly action: string
}
