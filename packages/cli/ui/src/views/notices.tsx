import { useApp } from '../state/app.ts'
import { Safe } from '../text/safe.tsx'

/** Errors of actions, until the user dismisses them. */
export function Notices() {
  const app = useApp()
  return (
    <div class="notices" role="alert">
      {app.notices.value.map(({ id, text }) => (
        <div class="notice" key={id}>
          <Safe text={text} maxChars={600} />
          <button type="button" class="small quiet" aria-label="Dismiss" onClick={() => app.dismiss(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  )
}
