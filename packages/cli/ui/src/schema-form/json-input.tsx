import { useEffect, useState } from 'preact/hooks'
import { visibleLine } from '../text/visible.ts'

interface JsonInputProps {
  readonly id: string
  readonly label: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly rows: number
}

/** Edits a value as JSON. Text that is not JSON stays in the editor, and the value stays as it was. */
export function JsonInput({ id, label, value, onChange, rows }: JsonInputProps) {
  const [draft, setDraft] = useState<{ text: string; problem?: string | undefined }>()
  const formatted = value === undefined ? '' : JSON.stringify(value, null, 2)
  // Another editor changed the value: what was typed here is out of date.
  useEffect(() => {
    setDraft((before) => (before && sameJson(before.text, value) ? before : undefined))
  }, [formatted])
  const edit = (text: string) => {
    const parsed = parse(text)
    setDraft({ text, problem: parsed.problem })
    if (parsed.problem === undefined) onChange(parsed.value)
  }
  return (
    <span class="json-input">
      <textarea
        id={id}
        class="mono"
        aria-label={`${visibleLine(label)} as JSON`}
        aria-invalid={draft?.problem !== undefined}
        rows={rows}
        spellcheck={false}
        value={draft?.text ?? formatted}
        onInput={(event) => edit(event.currentTarget.value)}
      />
      {draft?.problem && (
        <span class="problem" role="status">
          {draft.problem}
        </span>
      )}
    </span>
  )
}

function parse(text: string): { value?: unknown; problem?: string | undefined } {
  if (text.trim() === '') return { value: undefined }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { problem: `Not JSON yet: ${error instanceof Error ? error.message : String(error)}` }
  }
}

function sameJson(text: string, value: unknown): boolean {
  const parsed = parse(text)
  return parsed.problem === undefined && JSON.stringify(parsed.value) === JSON.stringify(value)
}
