import type { HttpExchange } from '../../../../src/inspector/protocol.ts'
import { duration } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'

/** The HTTP request that carried a message, and the head of its response. */
export function HttpDetail({ exchange }: { exchange: HttpExchange }) {
  const isBad = exchange.error !== undefined || (exchange.status ?? 0) >= 400
  return (
    <div class="http-detail">
      <p>
        <strong>{exchange.method}</strong>{' '}
        <span class="address">
          <Safe text={exchange.url} maxChars={4_000} />
        </span>
      </p>
      <Headers title="Request headers" headers={exchange.requestHeaders} />
      <p class={isBad ? 'problem' : undefined}>
        <strong>{exchange.status ?? (exchange.error === undefined ? 'no response yet' : 'failed')}</strong>{' '}
        {exchange.error && <Safe text={exchange.error} maxChars={1_000} />}
        {exchange.durationMs !== undefined && <span class="dim"> after {duration(exchange.durationMs)}</span>}
      </p>
      {exchange.responseHeaders && <Headers title="Response headers" headers={exchange.responseHeaders} />}
    </div>
  )
}

function Headers({ title, headers }: { title: string; headers: Readonly<Record<string, string>> }) {
  return (
    <section>
      <h4>{title}</h4>
      <dl class="facts">
        {Object.entries(headers).map(([name, value]) => (
          <div key={name}>
            <dt>
              <Safe text={name} maxChars={100} />
            </dt>
            <dd>
              <Safe text={value} maxChars={4_000} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
