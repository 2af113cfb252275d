import { Field } from './field.tsx'
import type { FieldProps } from './field-props.ts'
import { initialValue, tupleItems } from './initial-value.ts'

/** A list of values of one schema. */
export function ArrayField({ schema, root, value, onChange, label, id }: FieldProps) {
  const items = Array.isArray(value) ? value : []
  const add = () => onChange([...items, initialValue(schema.items, root) ?? null])
  return (
    <div class="items">
      {items.map((item, index) => (
        <div class="item" key={index}>
          <Field
            schema={schema.items}
            root={root}
            value={item}
            onChange={(next) => onChange(items.with(index, next ?? null))}
            label={`${label}[${index}]`}
            isRequired
            id={`${id}-${index}`}
          />
          <button
            type="button"
            class="small quiet"
            aria-label={`Remove item ${index}`}
            title="Remove this item"
            onClick={() => onChange(items.toSpliced(index, 1))}
          >
            ✕
          </button>
        </div>
      ))}
      <button type="button" class="small" onClick={add}>
        Add item
      </button>
    </div>
  )
}

/** A list whose items have a schema each. */
export function TupleField({ schema, root, value, onChange, label, id }: FieldProps) {
  const items = Array.isArray(value) ? value : []
  const schemas = tupleItems(schema)
  const change = (index: number, next: unknown) =>
    onChange(schemas.map((_, at) => (at === index ? (next ?? null) : (items[at] ?? null))))
  return (
    <div class="items">
      {schemas.map((item, index) => (
        <Field
          key={index}
          schema={item}
          root={root}
          value={items[index]}
          onChange={(next) => change(index, next)}
          label={`${label}[${index}]`}
          isRequired
          id={`${id}-${index}`}
        />
      ))}
    </div>
  )
}
