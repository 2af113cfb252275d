import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Safe } from '../text/safe.tsx'
import type { FieldProps } from './field-props.ts'

type Typed = { readonly currentTarget: HTMLInputElement }

export function StringField({ schema, value, onChange, isRequired, id }: FieldProps) {
  const format = typeof schema.format === 'string' ? schema.format : ''
  const text = typeof value === 'string' ? value : ''
  const common = {
    id,
    required: isRequired,
    minLength: lengthOf(schema.minLength),
    maxLength: lengthOf(schema.maxLength),
    placeholder: placeholderOf(schema),
    'aria-describedby': noteOf(schema, id),
  }
  const change = (next: string) => onChange(next === '' && !isRequired ? undefined : next)
  if (format === 'date-time') return <DateTimeInput {...common} text={text} onText={change} />
  const input = { ...common, value: text, onInput: (event: Typed) => change(event.currentTarget.value) }
  if (format === 'date') return <input {...input} type="date" />
  if (format === 'time') return <input {...input} type="time" step={1} />
  if (format === 'email') return <input {...input} type="email" />
  if (format === 'uri') return <input {...input} type="url" />
  return <TextInput {...common} text={text} onText={change} isLong={isLong(schema)} />
}

interface TextInputProps {
  readonly id: string
  readonly text: string
  readonly onText: (text: string) => void
  /** Whether the schema asks for a long text. */
  readonly isLong: boolean
}

/** One line, until the text needs several: Shift+Enter or a pasted line break adds one. */
function TextInput({ text, onText, isLong, ...common }: TextInputProps) {
  const [wantsLines, setWantsLines] = useState(isLong)
  const hasLines = wantsLines || text.includes('\n')
  const area = useRef<HTMLTextAreaElement>(null)
  const caret = useRef<number>(undefined)
  useLayoutEffect(() => {
    if (!hasLines || caret.current === undefined) return
    area.current?.focus()
    area.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  }, [hasLines])
  const insert = ({ selectionStart, selectionEnd, value }: HTMLInputElement, added: string) => {
    const start = selectionStart ?? value.length
    caret.current = start + added.length
    onText(value.slice(0, start) + added + value.slice(selectionEnd ?? start))
    setWantsLines(true)
  }
  const onKeyDown = (event: KeyboardEvent & Typed) => {
    if (event.key !== 'Enter' || !event.shiftKey) return
    event.preventDefault()
    insert(event.currentTarget, '\n')
  }
  const onPaste = (event: ClipboardEvent & Typed) => {
    const pasted = event.clipboardData?.getData('text/plain').replaceAll('\r\n', '\n') ?? ''
    if (!pasted.trim().includes('\n')) return
    event.preventDefault()
    insert(event.currentTarget, pasted)
  }
  const onInput = (event: { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
    onText(event.currentTarget.value)
  const field = { ...common, spellcheck: false, value: text, onInput }
  return (
    <span class="line-input">
      {hasLines ? (
        <textarea {...field} ref={area} rows={isLong ? 4 : 2} />
      ) : (
        <input {...field} type="text" autocomplete="off" onKeyDown={onKeyDown} onPaste={onPaste} />
      )}
      <button
        type="button"
        class="small quiet"
        tabIndex={-1}
        aria-label="Several lines"
        title={hasLines ? 'One line' : 'Several lines (Shift+Enter)'}
        aria-pressed={hasLines}
        disabled={text.includes('\n')}
        onClick={() => setWantsLines(!wantsLines)}
      >
        ¶
      </button>
    </span>
  )
}

/** Formats that form generators use for long texts. JSON Schema has none. */
const longFormats = new Set(['multiline', 'textarea', 'markdown'])
const longChars = 200

function isLong({ format, contentMediaType, maxLength }: FieldProps['schema']): boolean {
  if (typeof format === 'string' && longFormats.has(format)) return true
  if (typeof contentMediaType === 'string' && contentMediaType.startsWith('text/')) return true
  return typeof maxLength === 'number' && maxLength > longChars
}

export function NumberField({ schema, value, onChange, isRequired, id }: FieldProps) {
  // While the user types 0.05, the text 0.0 stands for the value 0 and has to stay.
  const [typed, setTyped] = useState('')
  const change = (text: string) => {
    setTyped(text)
    onChange(text === '' ? undefined : Number(text))
  }
  const shown = typed !== '' && Number(typed) === value ? typed : value
  return (
    <input
      id={id}
      type="number"
      required={isRequired}
      step={numberOf(schema.multipleOf) ?? (schema.type === 'integer' ? 1 : 'any')}
      min={numberOf(schema.minimum) ?? numberOf(schema.exclusiveMinimum)}
      max={numberOf(schema.maximum) ?? numberOf(schema.exclusiveMaximum)}
      placeholder={placeholderOf(schema)}
      aria-describedby={noteOf(schema, id)}
      value={typeof value === 'number' ? String(shown) : ''}
      onInput={(event) => change(event.currentTarget.value)}
    />
  )
}

/** A required boolean is a checkbox. An optional one can also be left out. */
export function BooleanField({ value, onChange, isRequired, id }: FieldProps) {
  if (isRequired || typeof value === 'boolean') {
    return (
      <span class="row">
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span aria-hidden="true">{String(value === true)}</span>
        {!isRequired && (
          <button type="button" class="small quiet" onClick={() => onChange(undefined)}>
            Leave out
          </button>
        )}
      </span>
    )
  }
  const choose = (text: string) => onChange(text === '' ? undefined : text === 'true')
  return (
    <select id={id} value="" onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">not set</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>
  )
}

/** The only possible value. */
export function ConstField({ schema }: FieldProps) {
  return (
    <code class="const">
      <Safe text={JSON.stringify('const' in schema ? schema.const : null) ?? 'null'} />
    </code>
  )
}

/** Browsers pick a local time; the value is the same instant in UTC. Text that is no date stays as it is. */
function DateTimeInput(props: { id: string; required: boolean; text: string; onText: (text: string) => void }) {
  const [isText, setIsText] = useState(false)
  const local = toLocal(props.text)
  const common = { id: props.id, required: props.required }
  return (
    <span class="row">
      {isText || (props.text !== '' && local === undefined) ? (
        <input
          {...common}
          type="text"
          value={props.text}
          onInput={(event) => props.onText(event.currentTarget.value)}
        />
      ) : (
        <input
          {...common}
          type="datetime-local"
          step={1}
          value={local ?? ''}
          onInput={(event) => props.onText(toInstant(event.currentTarget.value))}
        />
      )}
      <button type="button" class="small quiet" aria-pressed={isText} onClick={() => setIsText(!isText)}>
        As text
      </button>
    </span>
  )
}

function toLocal(text: string): string | undefined {
  const date = new Date(text)
  if (text === '' || Number.isNaN(date.getTime())) return undefined
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 19)
}

function toInstant(local: string): string {
  const date = new Date(local)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** The id of the description below the field, if it has one. */
function noteOf({ description }: FieldProps['schema'], id: string): string | undefined {
  return typeof description === 'string' ? `${id}-note` : undefined
}

function placeholderOf({ default: initial, examples }: FieldProps['schema']): string | undefined {
  const example = initial ?? (Array.isArray(examples) ? examples[0] : undefined)
  if (example === undefined) return undefined
  return (typeof example === 'string' ? example : (JSON.stringify(example) ?? '')).slice(0, 100)
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** A negative length would be an error of the browser. */
function lengthOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined
}
