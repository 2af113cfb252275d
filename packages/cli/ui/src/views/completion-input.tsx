import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { isObject } from 'tenon/internal'
import { useApp } from '../state/app.ts'
import { Safe } from '../text/safe.tsx'
import { visibleLine } from '../text/visible.ts'

interface CompletionInputProps {
  readonly server: string
  /** The prompt or the template that the argument belongs to. */
  readonly reference: Readonly<Record<string, unknown>>
  readonly name: string
  readonly value: string
  /** The other arguments, which the server may consider. */
  readonly others: Readonly<Record<string, string>>
  readonly onChange: (value: string) => void
  readonly isRequired?: boolean
  readonly description?: string | undefined
}

/** Wait for a pause in typing before asking the server. */
const pauseMs = 150

/** An argument whose values the server completes while the user types. */
export function CompletionInput(props: CompletionInputProps) {
  const id = useId()
  const { complete, values } = useCompletion(props)
  return (
    <div class="field">
      <label class="field-head" for={id}>
        <span class="field-name">
          <Safe text={props.name} maxChars={200} />
          {props.isRequired && (
            <span class="required" title="required">
              *
            </span>
          )}
        </span>
      </label>
      <input
        id={id}
        list={`${id}-values`}
        autocomplete="off"
        spellcheck={false}
        value={props.value}
        onFocus={() => complete(props.value)}
        onInput={(event) => {
          props.onChange(event.currentTarget.value)
          complete(event.currentTarget.value)
        }}
      />
      <datalist id={`${id}-values`}>
        {values.map((value) => (
          <option key={value} value={value}>
            {visibleLine(value)}
          </option>
        ))}
      </datalist>
      {props.description && (
        <p class="field-note">
          <Safe text={props.description} maxChars={1_000} />
        </p>
      )}
    </div>
  )
}

function useCompletion({ server, reference, name, others }: CompletionInputProps) {
  const app = useApp()
  const [operation, setOperation] = useState<string>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  app.store.operations.changes.watch()
  const canComplete = app.isLive && app.store.servers.get(server)?.capabilities?.completions !== undefined
  const ask = async (value: string) => {
    const context = Object.keys(others).length === 0 ? {} : { context: { arguments: others } }
    const params = { ref: reference, argument: { name, value }, ...context }
    const started = await app.operate(server, { method: 'completion/complete', params })
    if (started !== undefined) setOperation(started)
  }
  const complete = (value: string) => {
    if (!canComplete) return
    clearTimeout(timer.current)
    timer.current = setTimeout(() => void ask(value), pauseMs)
  }
  return { complete, values: valuesOf(app.store.operations.get(operation)?.ended?.result) }
}

function valuesOf(result: unknown): string[] {
  if (!isObject(result) || !isObject(result.completion) || !Array.isArray(result.completion.values)) return []
  const values = result.completion.values.filter((value): value is string => typeof value === 'string')
  return [...new Set(values)].slice(0, 100)
}
