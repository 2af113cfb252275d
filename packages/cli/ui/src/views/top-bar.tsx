import { useRef } from 'preact/hooks'
import { useApp } from '../state/app.ts'
import { saveFile } from '../state/save-file.ts'
import { theme, themes } from '../state/theme.ts'
import { Safe } from '../text/safe.tsx'

/** Transcripts, colours, and whether the backend is there. */
export function TopBar(props: { onOpen: (file: File) => void; onClose: () => void }) {
  const app = useApp()
  const input = useRef<HTMLInputElement>(null)
  const save = async () => {
    // The backend has the messages that the log of the page has shortened.
    const transcript = await app.run((backend) => backend.transcript())
    saveFile('transcript.json', transcript ?? JSON.stringify(app.store.log.toTranscript()))
  }
  return (
    <header class="top-bar">
      <h1>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M1 4h5v3h4V4h5v8h-5V9H6v3H1z" />
        </svg>
        Tenon inspector
      </h1>
      <StreamNote />
      <span class="space" />
      {app.transcript === undefined ? null : (
        <span class="transcript-note">
          Transcript <Safe text={app.transcript} />
          <button type="button" class="small" onClick={props.onClose}>
            Back to live
          </button>
        </span>
      )}
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        class="visually-hidden"
        tabIndex={-1}
        aria-label="Transcript to load"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0]
          event.currentTarget.value = ''
          if (file) props.onOpen(file)
        }}
      />
      <button type="button" class="small quiet" onClick={() => input.current?.click()}>
        Load<span class="wide-only"> transcript</span>
      </button>
      <button type="button" class="small quiet" onClick={save}>
        Save<span class="wide-only"> transcript</span>
      </button>
      <button
        type="button"
        class="small quiet wide-only"
        title="Keys (?)"
        onClick={() => (app.ui.isShowingKeys.value = true)}
      >
        Keys
      </button>
      <ThemeSwitch />
    </header>
  )
}

function ThemeSwitch() {
  return (
    <select
      class="small"
      aria-label="Colours"
      value={theme.value}
      onChange={(event) => {
        const chosen = themes.find((name) => name === event.currentTarget.value)
        if (chosen) theme.value = chosen
      }}
    >
      {themes.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}

const words = {
  connecting: 'Connecting to the backend…',
  open: '',
  lost: 'The backend is gone. Trying again…',
  refused: 'The backend refused this page. Open the address that "tenon inspect" printed.',
}

function StreamNote() {
  const app = useApp()
  const text = app.isLive ? words[app.stream.value] : ''
  return (
    <span class="stream-note" role="status">
      {text}
    </span>
  )
}
