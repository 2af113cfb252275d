import { signal } from '@preact/signals'
import { render } from 'preact'
import { Backend } from './backend/backend.ts'
import { followEvents } from './backend/event-stream.ts'
import { takeSecret } from './backend/secret.ts'
import { App } from './state/app.ts'
import { parseTranscript } from './store/event-log.ts'
import { Inlet } from './store/inlet.ts'
import './state/theme.ts'
import './styles/main.css'
import { Root } from './views/root.tsx'

const backend = new Backend(new URL('./', document.baseURI), takeSecret() ?? '')
const live = new App({ backend })
const shown = signal(live)

void followEvents({
  backend,
  store: live.store,
  inlet: new Inlet(live.store),
  signal: new AbortController().signal,
  onState: (state) => {
    live.stream.value = state
  },
})

/** Shows a saved transcript in place of the live log, which goes on in the background. */
async function openTranscript(file: File): Promise<void> {
  try {
    const { events } = parseTranscript(await file.text())
    const app = new App({ transcript: file.name })
    new Inlet(app.store).push(events)
    shown.value = app
  } catch (error) {
    shown.value.notify(error instanceof Error ? error.message : String(error))
  }
}

const container = document.getElementById('app')
if (container) render(<Root shown={shown} onOpen={openTranscript} onClose={() => (shown.value = live)} />, container)
