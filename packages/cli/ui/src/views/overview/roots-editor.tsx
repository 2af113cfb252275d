import { useEffect, useState } from 'preact/hooks'
import type { RootsSet } from '../../../../src/inspector/protocol.ts'
import { useApp } from '../../state/app.ts'

type Roots = RootsSet['roots']

/** The folders that the server may work in. */
export function RootsEditor({ server }: { server: string }) {
  const app = useApp()
  app.store.roots.changes.watch()
  const current = app.store.roots.of(server)
  const [draft, setDraft] = useState<Roots>(current)
  useEffect(() => setDraft(current), [current])
  const change = (index: number, next: Partial<Roots[number]>) =>
    setDraft(draft.map((root, at) => (at === index ? { ...root, ...next } : root)))
  const save = () => {
    const roots = draft
      .filter(({ uri }) => uri.trim() !== '')
      .map(({ uri, name }) => ({ uri: toUri(uri), ...(name ? { name } : {}) }))
    void app.run((backend) => backend.setRoots(server, roots))
  }
  return (
    <section aria-label="Roots" class="roots">
      <h3>Roots</h3>
      {draft.map((root, index) => (
        <div class="row" key={index}>
          <input
            class="mono"
            aria-label={`URI of root ${index + 1}`}
            placeholder="file:///home/me/project"
            value={root.uri}
            onInput={(event) => change(index, { uri: event.currentTarget.value })}
          />
          <input
            aria-label={`Name of root ${index + 1}`}
            placeholder="name"
            value={root.name ?? ''}
            onInput={(event) => change(index, { name: event.currentTarget.value })}
          />
          <button
            type="button"
            class="small quiet"
            aria-label={`Remove root ${index + 1}`}
            onClick={() => setDraft(draft.filter((_, at) => at !== index))}
          >
            ✕
          </button>
        </div>
      ))}
      {draft.length === 0 && <p class="dim">The server sees no roots.</p>}
      <div class="actions">
        <button type="button" class="small" disabled={!app.isLive} onClick={() => setDraft([...draft, { uri: '' }])}>
          Add root
        </button>
        <button
          type="button"
          class="small primary"
          disabled={!app.isLive || JSON.stringify(draft) === JSON.stringify(current)}
          onClick={save}
        >
          Save roots
        </button>
      </div>
    </section>
  )
}

/** A path becomes a file URI. */
function toUri(text: string): string {
  const trimmed = text.trim()
  return trimmed.startsWith('/') ? `file://${encodeURI(trimmed)}` : trimmed
}
