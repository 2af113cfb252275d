import { useState } from 'preact/hooks'
import { useApp } from '../state/app.ts'
import type { AuthSteps } from '../store/auth.ts'
import type { ServerView } from '../store/servers.ts'
import { ExternalLink } from '../text/external-link.tsx'
import { Safe } from '../text/safe.tsx'
import { visibleLine } from '../text/visible.ts'
import { ErrorView } from './operation/error-view.tsx'
import { AuthView } from './overview/auth-view.tsx'
import { ServerActions } from './overview/overview.tsx'

/** Whether a server shows nothing before the user logs in, or a login is under way. */
export function needsLogin({ state, capabilities, server }: ServerView, auth: AuthSteps): boolean {
  if (state === 'unauthorized') return true
  const steps = auth.of(server)
  return state === 'connecting' && (steps.at(-1)?.outcome === 'waiting' || (steps.length > 0 && !capabilities))
}

/** Takes the place of the lists: where to log in, and what was found about it. */
export function LoginView({ server }: { server: ServerView }) {
  return (
    <div class="overview">
      <LoginPanel server={server} />
      <ServerActions server={server} />
      <AuthView server={server} />
    </div>
  )
}

function LoginPanel({ server }: { server: ServerView }) {
  const app = useApp()
  app.store.auth.changes.watch()
  const steps = app.store.auth.of(server.server)
  const issuer = steps.findLast((step) => step.issuer)?.issuer
  const scope = steps.findLast((step) => step.scope)?.scope
  const waiting = server.state === 'connecting' ? steps.at(-1) : undefined
  return (
    <section class="login-panel" aria-label="Login">
      <h2>
        <Safe text={server.name} maxChars={100} /> requires {issuer ? 'a login' : 'a token'}
      </h2>
      {issuer === undefined ? (
        <p>It names no page to log in. It probably takes a token that its operator issues.</p>
      ) : (
        <p>
          Log in at <strong>{visibleLine(hostOf(issuer), 200)}</strong> to see what the server offers. The inspector
          keeps the token in memory until it ends.
        </p>
      )}
      {scope && (
        <p>
          It asks for: <Safe text={scope} maxChars={500} />
        </p>
      )}
      {server.error && <ErrorView error={server.error} />}
      {waiting?.outcome === 'waiting' && waiting.url ? (
        <Waiting server={server.server} url={waiting.url} />
      ) : (
        <LoginButtons server={server} issuer={issuer} />
      )}
    </section>
  )
}

function LoginButtons({ server, issuer }: { server: ServerView; issuer: string | undefined }) {
  const app = useApp()
  const [isBusy, setIsBusy] = useState(false)
  const login = async () => {
    setIsBusy(true)
    const url = (await app.run((backend) => backend.login(server.server)))?.url
    setIsBusy(false)
    // The user agreed to visit the host on the panel. A page elsewhere is shown as a link first.
    if (url && issuer && new URL(url).origin === new URL(issuer).origin)
      window.open(url, '_blank', 'noopener,noreferrer')
  }
  const useToken = () => {
    app.ui.connectDraft.value = {
      target: server.address,
      headers: 'Authorization: Bearer ',
      replaces: server.server,
    }
  }
  const isOff = !app.isLive || isBusy || server.state === 'connecting'
  return (
    <div class="actions">
      {issuer && (
        <button type="button" class="primary" disabled={isOff} onClick={login}>
          {isBusy ? 'Opening the login page…' : 'Log in'}
        </button>
      )}
      <button type="button" class={issuer ? undefined : 'primary'} disabled={isOff} onClick={useToken}>
        Use a token…
      </button>
    </div>
  )
}

function Waiting({ server, url }: { server: string; url: string }) {
  const app = useApp()
  return (
    <>
      <p role="status">Waiting for you to log in on the page that was opened. If there is none:</p>
      <p>
        <ExternalLink url={url} label="Open the login page" />
      </p>
      <div class="actions">
        <button type="button" disabled={!app.isLive} onClick={() => app.run((backend) => backend.reconnect(server))}>
          Cancel
        </button>
      </div>
    </>
  )
}

function hostOf(issuer: string): string {
  return URL.canParse(issuer) ? new URL(issuer).host : issuer
}
