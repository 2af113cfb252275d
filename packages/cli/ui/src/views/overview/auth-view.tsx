import { useApp } from '../../state/app.ts'
import type { ServerView } from '../../store/servers.ts'
import { ExternalLink } from '../../text/external-link.tsx'
import { duration } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'

const marks = { ok: '✓', warning: '!', failed: '✗', waiting: '…' }

/** Each step of discovery and login: what was expected and what was found. */
export function AuthView({ server }: { server: ServerView }) {
  const app = useApp()
  app.store.auth.changes.watch()
  app.store.wire.changes.watch()
  const steps = app.store.auth.of(server.server)
  if (steps.length === 0) return null
  return (
    <section aria-label="Authorization">
      <h3>Authorization</h3>
      <ol class="plain auth-steps">
        {steps.map((step) => {
          const exchange = app.store.wire.exchange(step.http)
          return (
            <li key={step.seq} class={`auth-step ${step.outcome}`}>
              <p>
                <span class="mark" title={step.outcome}>
                  {marks[step.outcome]}
                </span>
                <strong>
                  <Safe text={step.title} maxChars={300} />
                </strong>
                {exchange && (
                  <span class="dim">
                    {' '}
                    {exchange.method} <Safe text={exchange.url} maxChars={500} /> {exchange.status ?? exchange.error}{' '}
                    {exchange.durationMs !== undefined && duration(exchange.durationMs)}
                  </span>
                )}
              </p>
              <dl class="facts">
                {step.expected !== undefined && <Fact name="expected" value={step.expected} />}
                {step.found !== undefined && <Fact name="found" value={step.found} />}
              </dl>
              {step.url && (
                <p>
                  <ExternalLink url={step.url} label="Open" />
                </p>
              )}
            </li>
          )
        })}
      </ol>
    </section>
  )
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Safe text={value} maxChars={5_000} />
      </dd>
    </div>
  )
}
