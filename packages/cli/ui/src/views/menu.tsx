import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'

/** A button that opens a few actions. The browser closes it with Esc or a click elsewhere. */
export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const place = () => {
    if (!button.current || !panel.current) return
    const { bottom, right } = button.current.getBoundingClientRect()
    panel.current.style.top = `${bottom + 4}px`
    panel.current.style.right = `${Math.max(8, document.documentElement.clientWidth - right)}px`
  }
  return (
    <>
      <button type="button" class="small quiet" ref={button} popovertarget={id} onClick={place}>
        {label} ▾
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Its buttons have the focus; the keys move between them. */}
      <div
        id={id}
        ref={panel}
        popover="auto"
        class="menu"
        onClick={() => panel.current?.hidePopover()}
        onKeyDown={moveWithArrows}
      >
        {children}
      </div>
    </>
  )
}

export function MenuItem(props: { label: string; isDisabled?: boolean; onChoose: () => void }) {
  return (
    <button type="button" class="menu-item" disabled={props.isDisabled} onClick={props.onChoose}>
      {props.label}
    </button>
  )
}

function moveWithArrows(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('button:not(:disabled)')]
  const index = items.findIndex((item) => item.matches(':focus'))
  items[(index + step + items.length) % items.length]?.focus()
}
