import { Safe } from '../text/safe.tsx'
import { visibleLine } from '../text/visible.ts'
import type { FieldProps } from './field-props.ts'
import { choicesOf, resolve } from './schema.ts'

/** One value of a fixed set. */
export function ChoiceField({ schema, root, value, onChange, isRequired, id }: FieldProps) {
  const choices = choicesOf(schema, root) ?? []
  const selected = choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value))
  const choose = (text: string) => onChange(text === '' ? undefined : choices[Number(text)]?.value)
  return (
    <select
      id={id}
      required={isRequired}
      value={selected === -1 ? '' : String(selected)}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {(!isRequired || selected === -1) && <option value="">not set</option>}
      {choices.map(({ value: each, label }, index) => (
        <option key={JSON.stringify(each)} value={index}>
          {visibleLine(label)}
        </option>
      ))}
    </select>
  )
}

/** Several values of a fixed set. */
export function ChoicesField({ schema, root, value, onChange }: FieldProps) {
  const choices = choicesOf(resolve(schema.items, root), root) ?? []
  const chosen = Array.isArray(value) ? value : []
  const toggle = (each: unknown, isOn: boolean) =>
    onChange(choices.map((choice) => choice.value).filter((one) => (one === each ? isOn : chosen.includes(one))))
  return (
    <div class="checks">
      {choices.map(({ value: each, label }) => (
        <label key={JSON.stringify(each)} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(each)}
            onChange={(event) => toggle(each, event.currentTarget.checked)}
          />
          <Safe text={label} />
        </label>
      ))}
    </div>
  )
}
