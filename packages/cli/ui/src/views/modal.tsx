import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** A dialog of the browser: it keeps the focus inside and closes with Esc. */
export function Modal(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    ref.current?.showModal()
    // The user opened it to fill something in, not to close it.
    ref.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [])
  return (
    <dialog ref={ref} aria-labelledby={id} onClose={props.onClose}>
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
