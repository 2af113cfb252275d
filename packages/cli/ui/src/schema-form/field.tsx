import { Safe } from '../text/safe.tsx'
import { AnyField } from './any-field.tsx'
import { ArrayField, TupleField } from './array-field.tsx'
import { ChoiceField, ChoicesField } from './choice-field.tsx'
import type { FieldProps } from './field-props.ts'
import { FileField } from './file-field.tsx'
import { initialValue } from './initial-value.ts'
import { ObjectField } from './object-field.tsx'
import { BooleanField, ConstField, NumberField, StringField } from './primitive-fields.tsx'
import { type FieldKind, kindOf, resolve } from './schema.ts'
import { UnionField } from './union-field.tsx'

const fields: Record<FieldKind, (props: FieldProps) => preact.JSX.Element | null> = {
  any: AnyField,
  array: ArrayField,
  boolean: BooleanField,
  choice: ChoiceField,
  choices: ChoicesField,
  const: ConstField,
  file: FileField,
  null: ConstField,
  number: NumberField,
  object: ObjectField,
  string: StringField,
  tuple: TupleField,
  union: UnionField,
}

/** Fields that consist of other fields. They are added on demand, so recursive schemas end. */
const composite = new Set<FieldKind>(['array', 'object', 'tuple', 'union', 'const', 'null', 'choices'])

/** A labelled field for a schema. */
export function Field(props: Omit<FieldProps, 'schema'> & { schema: unknown }) {
  const schema = resolve(props.schema, props.root)
  const kind = kindOf(schema, props.root)
  const Control = fields[kind]
  const isGroup = composite.has(kind)
  const isAbsent = isGroup && props.value === undefined
  const title = typeof schema.title === 'string' && schema.title !== props.label ? schema.title : undefined
  const description = typeof schema.description === 'string' ? schema.description : undefined
  const head = (
    <>
      <span class={title ? 'field-name field-title' : 'field-name'}>
        <Safe text={title ?? props.label} />
        {props.isRequired && (
          <span class="required" title="required">
            *
          </span>
        )}
      </span>
      {title && (
        <span class="mono dim">
          <Safe text={props.label} />
        </span>
      )}
      <span class="field-type">{typeText(schema, kind)}</span>
    </>
  )
  const note = description && (
    <p class="field-note" id={`${props.id}-note`}>
      <Safe text={description} maxChars={2_000} />
    </p>
  )
  if (!isGroup) {
    return (
      <div class="field">
        <label class="field-head" for={props.id}>
          {head}
        </label>
        <Control {...props} schema={schema} />
        {note}
      </div>
    )
  }
  return (
    <fieldset class="field group">
      <legend class="field-head">{head}</legend>
      <div class="group-body">
        {note}
        {isAbsent ? (
          <button type="button" class="small" onClick={() => props.onChange(initialValue(schema, props.root) ?? null)}>
            Add <Safe text={props.label} />
          </button>
        ) : (
          <>
            <Control {...props} schema={schema} />
            {!props.isRequired && (
              <button type="button" class="small quiet" onClick={() => props.onChange(undefined)}>
                Remove <Safe text={props.label} />
              </button>
            )}
          </>
        )}
      </div>
    </fieldset>
  )
}

function typeText(schema: FieldProps['schema'], kind: FieldKind): string {
  const type = typeof schema.type === 'string' ? schema.type : kind
  const format = typeof schema.format === 'string' ? ` (${schema.format.slice(0, 30)})` : ''
  if (kind === 'file') return 'file (base64)'
  return kind === 'union' ? 'one of' : `${kind === 'choice' ? 'enum' : type}${format}`
}
