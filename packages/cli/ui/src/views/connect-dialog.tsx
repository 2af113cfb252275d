import { useEffect, useState } from 'preact/hooks'
import type { ConfiguredServer, ConnectRequest } from '../../../src/inspector/protocol.ts'
import { useApp } from '../state/app.ts'
import type { ConnectDraft } from '../state/ui-state.ts'
import { Safe } from '../text/safe.tsx'
import { Modal } from './modal.tsx'
import { revisions, toRevision } from './revisions.ts'

/** Connects a server: a URL, a command, or a server of a config file. */
export function ConnectDialog({ draft, onClose }: { draft: ConnectDraft; onClose: () => void }) {
  const app = useApp()
  const [isBusy, setIsBusy] = useState(false)
  const connect = async (request: ConnectRequest) => {
    setIsBusy(true)
    const answer = await app.run((backend) => backend.connect(request))
    setIsBusy(false)
    if (answer === undefined) return
    const { replaces } = draft
    if (replaces !== undefined) void app.run((backend) => backend.remove(replaces))
    app.ui.server.value = answer.server
    app.ui.pane.value = 'workspace'
    onClose()
  }
  return (
    <Modal title="Connect a server" onClose={onClose}>
      <ConnectForm draft={draft} isBusy={isBusy} onConnect={connect} />
      <Configured isBusy={isBusy} onConnect={connect} />
    </Modal>
  )
}

interface ConnectProps {
  readonly isBusy: boolean
  readonly onConnect: (request: ConnectRequest) => void
}

function ConnectForm({ draft, isBusy, onConnect }: ConnectProps & { draft: ConnectDraft }) {
  const [target, setTarget] = useState(draft.target ?? '')
  const [revision, setRevision] = useState('')
  const [isSse, setIsSse] = useState(false)
  const [headers, setHeaders] = useState(draft.headers ?? '')
  const isUrl = /^https?:/i.test(target.trim())
  const submit = (event: Event) => {
    event.preventDefault()
    onConnect({
      target: target.trim(),
      revision: toRevision(revision),
      transport: isUrl && isSse ? 'sse' : undefined,
      headers: isUrl ? toHeaders(headers) : undefined,
    })
  }
  return (
    <form class="stack" onSubmit={submit}>
      <label class="stack">
        URL or command
        <input
          class="mono"
          required
          spellcheck={false}
          placeholder="http://127.0.0.1:3000/mcp or node a.js"
          value={target}
          onInput={(event) => setTarget(event.currentTarget.value)}
        />
      </label>
      <label class="stack">
        Revision
        <select value={revision} onChange={(event) => setRevision(event.currentTarget.value)}>
          <option value="">newest of both sides</option>
          {revisions.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={isSse}
          disabled={!isUrl}
          onChange={(event) => setIsSse(event.currentTarget.checked)}
        />
        HTTP+SSE, the transport of 2024-11-05
      </label>
      <label class="stack">
        Headers, one per line
        <textarea
          class="mono"
          rows={2}
          spellcheck={false}
          disabled={!isUrl}
          placeholder="Authorization: Bearer …"
          value={headers}
          onInput={(event) => setHeaders(event.currentTarget.value)}
        />
      </label>
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? 'Connecting…' : 'Connect'}
        </button>
      </div>
    </form>
  )
}

/** Servers of the config files that the backend found. */
function Configured({ isBusy, onConnect }: ConnectProps) {
  const app = useApp()
  const [servers, setServers] = useState<readonly ConfiguredServer[]>([])
  useEffect(() => {
    void app.run((backend) => backend.configured()).then((found) => setServers(found ?? []))
  }, [app])
  if (servers.length === 0) return null
  return (
    <section class="stack configured">
      <h3>From config files</h3>
      <ul class="plain">
        {servers.map((server) => (
          <li key={`${server.source} ${server.name}`} class="row">
            <button
              type="button"
              class="small"
              disabled={isBusy}
              onClick={() => onConnect({ target: server.name, source: server.source })}
            >
              <Safe text={server.name} maxChars={100} />
            </button>
            <span class="dim clip">
              <Safe text={server.address} maxChars={200} /> · <Safe text={server.source} maxChars={200} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Lines of the form `Name: value`. Other lines are ignored. */
function toHeaders(text: string): Record<string, string> | undefined {
  const pairs = text.split('\n').flatMap((line): [string, string][] => {
    const colon = line.indexOf(':')
    return colon > 0 ? [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]] : []
  })
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
}
