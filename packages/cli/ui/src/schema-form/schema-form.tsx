import { useId } from 'preact/hooks'
import { Field } from './field.tsx'
import { initialValue } from './initial-value.ts'
import { ObjectFields } from './object-field.tsx'
import { kindOf, resolve, type Schema } from './schema.ts'

/** A form for any JSON Schema. It edits `value`, which stays plain JSON, so other editors can show the same value. */
export function SchemaForm(props: { schema: unknown; value: unknown; onChange: (value: unknown) => void }) {
  const id = useId()
  const root: Schema = resolve(props.schema, resolve(props.schema, {}))
  if (kindOf(root, root) === 'object' || kindOf(root, root) === 'any') {
    const value = props.value ?? initialValue(root, root)
    return (
      <div class="schema-form">
        <ObjectFields schema={root} root={root} value={value} onChange={props.onChange} id={id} />
      </div>
    )
  }
  return (
    <div class="schema-form">
      <Field schema={root} root={root} value={props.value} onChange={props.onChange} label="value" isRequired id={id} />
    </div>
  )
}
