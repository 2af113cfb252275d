import { useApp } from '../state/app.ts'
import type { ServerView } from '../store/servers.ts'
import { Safe } from '../text/safe.tsx'
import { visibleLine } from '../text/visible.ts'

/** The servers of the page. */
export function ServerColumn() {
  const { store, ui, isLive } = useApp()
  store.servers.changes.watch()
  store.questions.changes.watch()
  const servers = store.servers.all()
  return (
    <section class="column servers" aria-label="Servers">
      <div class="column-head">
        <h2>Servers</h2>
        {isLive && (
          <button type="button" class="small" title="Connect a server (c)" onClick={() => (ui.connectDraft.value = {})}>
            + Connect
          </button>
        )}
      </div>
      <ul class="server-list" onKeyDown={moveWithArrows}>
        {servers.map((server) => (
          <li key={server.server}>
            <ServerButton server={server} />
          </li>
        ))}
      </ul>
      {servers.length === 0 && (
        <p class="empty">{isLive ? 'No server is connected.' : 'This transcript has no servers.'}</p>
      )}
    </section>
  )
}

const stateWords = { connecting: 'connecting…', closed: 'closed', failed: 'failed', unauthorized: 'login required' }

function ServerButton({ server }: { server: ServerView }) {
  const { store, ui } = useApp()
  const questions = store.questions.open().filter(({ asked }) => asked.server === server.server).length
  const select = () => {
    ui.server.value = server.server
    ui.pane.value = 'workspace'
  }
  return (
    <button
      type="button"
      class="server"
      aria-current={ui.server.value === server.server ? 'true' : undefined}
      title={[server.info?.name, server.address]
        .filter(Boolean)
        .map((text) => visibleLine(text ?? ''))
        .join('\n')}
      onClick={select}
    >
      <span class={`dot ${server.state}`} aria-hidden="true" />
      <span class="server-name">
        <Safe text={server.name} maxChars={100} />
      </span>
      {questions > 0 && (
        <span class="count alert" title="open questions">
          {questions}
        </span>
      )}
      <span class="server-facts">
        {server.state === 'ready' ? server.revision : stateWords[server.state]} · {server.transport}
      </span>
    </button>
  )
}

/** Up and down go to the previous and the next server. */
function moveWithArrows(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('button.server')]
  const index = buttons.findIndex((button) => button.matches(':focus'))
  buttons[Math.min(Math.max(index + step, 0), buttons.length - 1)]?.focus()
}
