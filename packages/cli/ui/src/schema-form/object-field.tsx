import { isObject } from 'tenon/internal'
import { Field } from './field.tsx'
import type { FieldProps } from './field-props.ts'
import { initialValue } from './initial-value.ts'
import { isRequired, propertiesOf } from './schema.ts'

export function ObjectField(props: FieldProps) {
  return <ObjectFields {...props} />
}

/** The properties of an object, and those with names that the user chooses. */
export function ObjectFields({ schema, root, value, onChange, id }: Omit<FieldProps, 'label' | 'isRequired'>) {
  const object = isObject(value) ? value : {}
  const properties = propertiesOf(schema)
  const set = (name: string, next: unknown) => onChange(withProperty(object, name, next))
  const names = Object.keys(properties)
  return (
    <div class="properties">
      {names.length === 0 && !allowsMore(schema, names) && <p class="dim">None.</p>}
      {names.map((name) => (
        <Field
          key={name}
          schema={properties[name]}
          root={root}
          value={Object.hasOwn(object, name) ? object[name] : undefined}
          onChange={(next) => set(name, next)}
          label={name}
          isRequired={isRequired(schema, name)}
          id={`${id}-${name}`}
        />
      ))}
      {allowsMore(schema, names) && (
        <MoreProperties schema={schema} root={root} value={object} known={properties} onChange={onChange} id={id} />
      )}
    </div>
  )
}

type MoreProps = Omit<FieldProps, 'label' | 'isRequired'> & {
  value: Readonly<Record<string, unknown>>
  known: Readonly<Record<string, unknown>>
}

/** Properties with names of the user: a map. */
function MoreProperties({ schema, root, value, known, onChange, id }: MoreProps) {
  const names = Object.keys(value).filter((name) => !Object.hasOwn(known, name))
  const add = () => onChange({ ...value, [freeName(value)]: initialValue(schema.additionalProperties, root) ?? '' })
  return (
    <div class="items">
      {names.map((name, index) => (
        // The position is the identity: the name changes while the user types it.
        <div class="item pair" key={index}>
          <input
            class="key"
            aria-label="Name of the property"
            value={name}
            onChange={(event) => onChange(renamed(value, name, event.currentTarget.value))}
          />
          <Field
            schema={schema.additionalProperties}
            root={root}
            value={value[name]}
            onChange={(next) => onChange(withProperty(value, name, next ?? null))}
            label={name}
            isRequired
            id={`${id}-more-${index}`}
          />
          <button
            type="button"
            class="small quiet"
            aria-label={`Remove ${name}`}
            title="Remove this property"
            onClick={() => onChange(withProperty(value, name, undefined))}
          >
            ✕
          </button>
        </div>
      ))}
      <button type="button" class="small" onClick={add}>
        Add property
      </button>
    </div>
  )
}

/** Only if the schema describes them, or nothing else: otherwise every form would have this button. */
function allowsMore(schema: FieldProps['schema'], names: readonly string[]): boolean {
  if (schema.additionalProperties === false) return false
  if (names.length === 0) return 'additionalProperties' in schema
  return isObject(schema.additionalProperties)
}

function withProperty(
  object: Readonly<Record<string, unknown>>,
  name: string,
  value: unknown,
): Record<string, unknown> {
  const { [name]: _before, ...rest } = object
  if (value === undefined) return rest
  return { ...object, [name]: value }
}

function renamed(object: Readonly<Record<string, unknown>>, from: string, to: string): Record<string, unknown> {
  if (to === '' || Object.hasOwn(object, to)) return { ...object }
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name === from ? to : name, value]))
}

function freeName(object: Readonly<Record<string, unknown>>): string {
  let number = 1
  while (Object.hasOwn(object, `key${number}`)) number++
  return `key${number}`
}
