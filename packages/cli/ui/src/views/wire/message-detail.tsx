import { useSignal } from '@preact/signals'
import { isObject } from 'tenon/internal'
import { type App, useApp } from '../../state/app.ts'
import { saveFile } from '../../state/save-file.ts'
import { durationOf, methodOf, type WireRow } from '../../store/wire.ts'
import { clockTime, duration, size } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'
import { JsonTree } from '../result/json-tree.tsx'
import { LargeText, maxShownChars } from '../result/large-text.tsx'
import { HttpDetail } from './http-detail.tsx'

/** One message in full: its JSON, its HTTP exchange, and its time. */
export function MessageDetail({ row }: { row: WireRow }) {
  const app = useApp()
  const view = app.ui.kept<'tree' | 'text' | 'http'>('message view', () => 'tree')
  const whole = useSignal<unknown>(undefined)
  const { event } = row
  const message = whole.value ?? event.message
  const isShortened = event.isShortened === true && whole.value === undefined
  const showAll = async () => (whole.value = await wholeMessage(app, row))
  const save = async () => {
    const all = whole.value ?? (await wholeMessage(app, row))
    saveFile(`message-${event.seq}.json`, typeof all === 'string' ? all : (JSON.stringify(all, null, 2) ?? ''))
  }
  const exchange = app.store.wire.exchange(event.http)
  return (
    <section class="message-detail" aria-label="Message">
      <DetailHead row={row} />
      <nav class="segments" aria-label="View of the message">
        {(['tree', 'text', 'http'] as const).map((each) => (
          <button
            type="button"
            key={each}
            disabled={each === 'http' && exchange === undefined}
            aria-current={view.value === each ? 'page' : undefined}
            onClick={() => (view.value = each)}
          >
            {each === 'http' ? 'headers' : each}
          </button>
        ))}
        <span class="space" />
        <button type="button" class="small quiet" onClick={save}>
          Save
        </button>
      </nav>
      {isShortened && (
        <p class="row">
          <span class="dim">Shortened: the message has {size(event.bytes)}.</span>
          <button type="button" class="small" disabled={!app.isLive} onClick={showAll}>
            Show all
          </button>
        </p>
      )}
      {view.value === 'http' && exchange ? (
        <HttpDetail exchange={exchange} />
      ) : typeof message === 'string' ? (
        <LargeText text={message} fileName={`message-${event.seq}.json`} />
      ) : view.value === 'text' ? (
        <LargeText text={JSON.stringify(message, null, 2) ?? ''} fileName={`message-${event.seq}.json`} />
      ) : (
        <JsonTree value={message} openLevels={event.bytes > maxShownChars ? 1 : 4} />
      )}
    </section>
  )
}

function DetailHead({ row }: { row: WireRow }) {
  const { ui } = useApp()
  const took = durationOf(row)
  const other = row.request ?? row.response
  return (
    <div class="detail-head">
      <h3>
        {row.event.direction === 'sent' ? '→' : '←'} <Safe text={methodOf(row)} maxChars={100} />
      </h3>
      <span class="space" />
      {other && (
        <button type="button" class="small quiet" onClick={() => (ui.wireRow.value = other.event.seq)}>
          {row.request ? 'Request' : 'Response'}
        </button>
      )}
      <Replay row={row} />
      <button
        type="button"
        class="small quiet"
        aria-label="Close the message"
        title="Close (Esc)"
        onClick={() => (ui.wireRow.value = undefined)}
      >
        ✕
      </button>
      <p class="dim">
        {row.kind}
        {row.id !== undefined && ' '}
        {row.id !== undefined && <Safe text={String(row.id)} maxChars={60} />} · {clockTime(row.event.at)} ·{' '}
        {size(row.event.bytes)}
        {took !== undefined && ` · ${duration(took)} after the request`}
      </p>
    </div>
  )
}

/** Methods that belong to the connection, not to the user. */
const notReplayed = /^(initialize|server\/discover|subscriptions\/|notifications\/)/

/** Sends a request again. */
function Replay({ row }: { row: WireRow }) {
  const app = useApp()
  const { event, method } = row
  const isMine = row.kind === 'request' && event.direction === 'sent' && isObject(event.message)
  if (!isMine || method === undefined || notReplayed.test(method)) return null
  return (
    <button type="button" class="small" disabled={!app.isLive} onClick={() => void replay(app, row, method)}>
      Replay
    </button>
  )
}

function replay(app: App, { event }: WireRow, method: string): Promise<string | undefined> {
  const operation = app.store.operations.get(event.operation)
  const { revision } = operation ?? {}
  if (operation?.method === method) return app.operate(event.server, { method, params: operation.params, revision })
  const params = isObject(event.message) && isObject(event.message.params) ? event.message.params : {}
  const { _meta, ...rest } = params
  return app.operate(event.server, { method, params: rest, revision })
}

async function wholeMessage(app: App, { event }: WireRow): Promise<unknown> {
  if (event.isShortened !== true) return event.message
  const found = await app.run((backend) => backend.event(event.seq))
  return found?.kind === 'message' ? found.message : event.message
}
