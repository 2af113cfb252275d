import type { Schema } from './schema.ts'

/** What every field of a form gets. */
export interface FieldProps {
  /** Resolved: without references. */
  readonly schema: Schema
  /** The document that references point into. */
  readonly root: Schema
  /** Undefined if it is not filled in. */
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly label: string
  readonly isRequired: boolean
  readonly id: string
}
