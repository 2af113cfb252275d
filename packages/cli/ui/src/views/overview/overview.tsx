import { useApp } from '../../state/app.ts'
import type { ServerView } from '../../store/servers.ts'
import { Safe } from '../../text/safe.tsx'
import { ErrorView } from '../operation/error-view.tsx'
import { JsonTree } from '../result/json-tree.tsx'
import { LargeText } from '../result/large-text.tsx'
import { TextBlock } from '../result/text-block.tsx'
import { RunHistory } from '../tools/run-history.tsx'
import { AuthView } from './auth-view.tsx'
import { RootsEditor } from './roots-editor.tsx'

/** A server: its state, what it says about itself, roots and login. */
export function Overview({ server: id }: { server: string }) {
  const { store } = useApp()
  store.servers.changes.watch()
  const server = store.servers.get(id)
  if (server === undefined) return <p class="empty">This server was removed.</p>
  const stderr = store.servers.stderr(id)
  return (
    <div class="overview">
      <ServerFacts server={server} />
      <ServerActions server={server} />
      {server.error && <ErrorView error={server.error} />}
      <AuthView server={server} />
      {server.instructions && (
        <section>
          <h3>Instructions</h3>
          <TextBlock text={server.instructions} />
        </section>
      )}
      {server.capabilities && (
        <section>
          <h3>Capabilities</h3>
          <JsonTree value={server.capabilities} openLevels={3} />
        </section>
      )}
      <RootsEditor server={id} />
      {stderr !== '' && (
        <section>
          <h3>stderr</h3>
          <LargeText text={stderr} />
        </section>
      )}
      <RunHistory server={id} method="ping" isMine={() => true} />
    </div>
  )
}

function ServerFacts({ server }: { server: ServerView }) {
  const facts: [string, string | undefined][] = [
    ['State', server.state],
    ['Address', server.address],
    ['Transport', server.transport],
    ['Revision', server.revision && `${server.revision}${server.chosenRevision ? ' (chosen)' : ''}`],
    ['Server', server.info && `${server.info.title ?? server.info.name} ${server.info.version}`],
    ['Session', server.sessionId],
  ]
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Safe text={value} maxChars={2_000} />
            </dd>
          </div>
        ),
      )}
    </dl>
  )
}

export function ServerActions({ server }: { server: ServerView }) {
  const app = useApp()
  if (!app.isLive) return null
  const id = server.server
  const isOpen = server.state === 'ready' || server.state === 'connecting'
  return (
    <div class="actions">
      {isOpen ? (
        <button type="button" class="small" onClick={() => app.run((backend) => backend.disconnect(id))}>
          Disconnect
        </button>
      ) : (
        <button type="button" class="small" onClick={() => app.run((backend) => backend.reconnect(id))}>
          Connect again
        </button>
      )}
      <button type="button" class="small" disabled={!isOpen} onClick={() => app.operate(id, { method: 'ping' })}>
        Ping
      </button>
      <button type="button" class="small quiet" onClick={() => app.run((backend) => backend.remove(id))}>
        Remove
      </button>
    </div>
  )
}
