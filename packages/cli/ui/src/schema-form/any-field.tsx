import type { FieldProps } from './field-props.ts'
import { JsonInput } from './json-input.tsx'

/** A value of any kind, as JSON. */
export function AnyField({ value, onChange, id, label }: FieldProps) {
  return <JsonInput id={id} label={label} value={value} onChange={onChange} rows={1} />
}
