import { useApp } from '../../state/app.ts'
import { durationOf, methodOf, type WireRow } from '../../store/wire.ts'
import { duration, size } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'

const words = { request: '', response: 'result', error: 'error', notification: '', invalid: 'invalid' }

/** One line of the wire: direction, method, subject, HTTP status, time, size. */
export function WireRowView({ row, hasManyServers }: { row: WireRow | undefined; hasManyServers: boolean }) {
  const { store } = useApp()
  if (row === undefined) return null
  const { event, kind, subject } = row
  const took = durationOf(row)
  const status = kind === 'response' || kind === 'error' ? undefined : store.wire.exchange(event.http)?.status
  return (
    <span class={`wire-row ${kind} ${event.direction}`}>
      <span class="arrow" title={event.direction}>
        {event.direction === 'sent' ? '→' : '←'}
      </span>
      <span class="clip">
        <span class={kind === 'notification' ? 'method quiet-method' : 'method'}>
          <Safe text={methodOf(row)} maxChars={80} />
        </span>{' '}
        {words[kind] !== '' && <span class="outcome">{words[kind]} </span>}
        {subject !== undefined && (
          <span class="dim">
            <Safe text={subject} maxChars={120} />
          </span>
        )}
      </span>
      {event.comparedRevision !== undefined && <span class="badge">{event.comparedRevision}</span>}
      {hasManyServers && (
        <span class="badge of-server">
          <Safe text={store.servers.get(event.server)?.name ?? event.server} maxChars={60} />
        </span>
      )}
      {status !== undefined && status >= 400 && <span class="badge bad">{status}</span>}
      <span class="number">{took === undefined ? '' : duration(took)}</span>
      <span class="number dim">{size(event.bytes)}</span>
    </span>
  )
}
