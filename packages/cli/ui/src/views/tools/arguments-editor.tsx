import type { Signal } from '@preact/signals'
import { useId, useRef } from 'preact/hooks'
import { initialObject } from '../../schema-form/initial-value.ts'
import { JsonInput } from '../../schema-form/json-input.tsx'
import { missingFields } from '../../schema-form/problems.ts'
import { resolve } from '../../schema-form/schema.ts'
import { SchemaForm } from '../../schema-form/schema-form.tsx'
import { useApp } from '../../state/app.ts'
import type { UiState } from '../../state/ui-state.ts'
import type { Item } from '../../store/lists.ts'
import { visibleLine } from '../../text/visible.ts'

/** The arguments that the user prepared for a tool. They stay while the page is open. */
export function argumentsOf(ui: UiState, server: string, tool: Item): Signal<unknown> {
  return ui.kept(`${server} tool ${tool.name} arguments`, () => {
    const root = resolve(tool.inputSchema, resolve(tool.inputSchema, {}))
    return initialObject(root, root)
  })
}

/** Arguments as a form or as JSON: two editors of the same value. Ctrl+J switches. */
export function ArgumentsEditor(props: { schema: unknown; value: Signal<unknown>; label: string }) {
  const { ui } = useApp()
  const id = useId()
  const editor = useRef<HTMLDivElement>(null)
  const isRaw = ui.kept('arguments as JSON', () => false)
  const root = resolve(props.schema, resolve(props.schema, {}))
  const missing = missingFields(props.value.value ?? {}, root, root)
  const change = (value: unknown) => {
    props.value.value = value ?? {}
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'j' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    isRaw.value = !isRaw.value
    // The field with the focus is gone: the first one of the other editor gets it.
    requestAnimationFrame(() => editor.current?.querySelector<HTMLElement>('input, select, textarea')?.focus())
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: A shortcut for the button inside.
    <div class="arguments" ref={editor} onKeyDown={onKeyDown}>
      <div class="row arguments-head">
        <h4>Arguments</h4>
        <span class="space" />
        <button
          type="button"
          class="small quiet"
          aria-pressed={isRaw.value}
          title="Edit as JSON (Ctrl+J)"
          onClick={() => (isRaw.value = !isRaw.value)}
        >
          {'{ }'} raw
        </button>
      </div>
      {isRaw.value ? (
        <JsonInput id={id} label={visibleLine(props.label)} value={props.value.value} onChange={change} rows={8} />
      ) : (
        <SchemaForm schema={root} value={props.value.value} onChange={change} />
      )}
      {missing.length > 0 && <p class="dim">Missing: {visibleLine(missing.join(', '))}</p>}
    </div>
  )
}
