import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { useApp } from '../state/app.ts'
import { sizeStyle } from '../state/sizes.ts'
import type { UiState } from '../state/ui-state.ts'
import { Splitter } from './splitter.tsx'

interface ListDetailProps {
  readonly server: string
  /** What the list has: `tools`. */
  readonly noun: string
  readonly list: ComponentChildren
  readonly children: ComponentChildren
}

/** A list beside the item that is selected. In a narrow column there is one of the two at a time. */
export function ListDetail({ server, noun, list, children }: ListDetailProps) {
  const { ui } = useApp()
  const isOpen = itemOpen(ui, server)
  const split = useRef<HTMLDivElement>(null)
  const goBack = () => {
    isOpen.value = false
    requestAnimationFrame(() => split.current?.querySelector<HTMLElement>('[role=listbox]')?.focus())
  }
  return (
    <div class="split" ref={split} data-open={isOpen.value} style={sizeStyle('list')}>
      <div class="list-side">{list}</div>
      <Splitter name="list" label="Size of the list" part="before" />
      <div class="detail">
        <button type="button" class="small back" title="Back (Esc)" onClick={goBack}>
          ‹ {noun[0]?.toUpperCase() + noun.slice(1)}
        </button>
        {children}
      </div>
    </div>
  )
}

/** Whether a narrow column shows the selected item of the tab instead of the list. */
export function itemOpen(ui: UiState, server: string): Signal<boolean> {
  return ui.kept(`${server} ${ui.tab.value} open`, () => false)
}

/** Goes on in the item that was opened: to its first field, or to its main button. */
export function focusDetail(): void {
  requestAnimationFrame(() => {
    const detail = document.querySelector('.split .detail')
    const target = detail?.querySelector<HTMLElement>('.field :is(input, select, textarea), button.primary')
    target?.focus()
  })
}
