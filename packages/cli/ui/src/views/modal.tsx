import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface ModalProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** As large as the page allows. */
  readonly isLarge?: boolean
}

/** A dialog of the browser: it keeps the focus inside and closes with Esc. */
export function Modal(props: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    ref.current?.showModal()
    // The user opened it to fill something in, not to close it.
    ref.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [])
  return (
    <dialog ref={ref} class={props.isLarge ? 'large' : undefined} aria-labelledby={id} onClose={props.onClose}>
      <div class="dialog-head">
        <h2 id={id}>{props.title}</h2>
        <button type="button" class="small quiet" aria-label="Close" onClick={() => ref.current?.close()}>
          ✕
        </button>
      </div>
      {props.children}
    </dialog>
  )
}
