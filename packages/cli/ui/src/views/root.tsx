import type { Signal } from '@preact/signals'
import { type App, AppContext } from '../state/app.ts'
import { Shell } from './shell.tsx'

/** The whole page, for the live log or for a transcript. */
export function Root(props: { shown: Signal<App>; onOpen: (file: File) => void; onClose: () => void }) {
  const app = props.shown.value
  return (
    <AppContext.Provider value={app}>
      <Shell key={app.transcript ?? 'live'} onOpen={props.onOpen} onClose={props.onClose} />
    </AppContext.Provider>
  )
}
