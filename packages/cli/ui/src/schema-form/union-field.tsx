import { useState } from 'preact/hooks'
import { visibleLine } from '../text/visible.ts'
import { Field } from './field.tsx'
import type { FieldProps } from './field-props.ts'
import { initialValue } from './initial-value.ts'
import { variantFor, variantName, variantsOf } from './schema.ts'

/** One of several schemas: a choice, and the form of the chosen one. */
export function UnionField({ schema, root, value, onChange, label, id }: FieldProps) {
  const variants = variantsOf(schema) ?? []
  const [picked, setPicked] = useState<number>()
  const fitting = variantFor(value, variants, root)
  // Several variants may fit a value, for example after a change to the raw JSON. The user's choice wins while it fits.
  const index = picked !== undefined && variantFor(value, [variants[picked] ?? {}], root) === 0 ? picked : fitting
  const choose = (next: number) => {
    setPicked(next)
    onChange(initialValue(variants[next], root) ?? null)
  }
  return (
    <div class="union">
      <select
        aria-label={`Variant of ${visibleLine(label)}`}
        value={String(index)}
        onChange={(event) => choose(Number(event.currentTarget.value))}
      >
        {variants.map((variant, at) => (
          <option key={at} value={at}>
            {visibleLine(variantName(variant, root, at))}
          </option>
        ))}
      </select>
      <Field
        schema={variants[index]}
        root={root}
        value={value}
        onChange={onChange}
        label={label}
        isRequired
        id={`${id}-v`}
      />
    </div>
  )
}
