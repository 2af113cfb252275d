import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { useApp } from '../../state/app.ts'
import type { EventOf } from '../../store/view-model.ts'
import type { Wire } from '../../store/wire.ts'
import type { WireFilter } from '../../store/wire-filter.ts'
import { duration } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'
import { useFiltered } from '../use-filtered.ts'
import { VirtualList } from '../virtual-list.tsx'
import { HttpDetail } from './http-detail.tsx'
import { MessageSplitter } from './message-splitter.tsx'

/** Every HTTP exchange, also those without a message: streams, the end of a session, discovery and login. */
export function HttpView() {
  const { store, ui } = useApp()
  store.wire.changes.watch()
  const { text, server } = ui.wireFilter.value
  const isWanted = useMemo(() => toTest(store.wire, { text, server }), [store.wire, text, server])
  const ids = useFiltered(store.wire.exchanges, isWanted)
  const selected = useSignal<string | undefined>(undefined)
  const exchange = store.wire.exchange(selected.value)
  return (
    <>
      {ids.length === 0 && (
        <p class="empty">No HTTP exchanges. Servers that run as a program exchange messages without HTTP.</p>
      )}
      <VirtualList
        label="HTTP exchanges"
        count={ids.length}
        rowHeight={24}
        selected={selected.value === undefined ? -1 : ids.indexOf(selected.value)}
        onSelect={(index) => (selected.value = ids.at(index))}
        isFollowing
        row={(index) => <HttpRow exchange={store.wire.exchange(ids.at(index))} />}
      />
      {exchange && <MessageSplitter />}
      {exchange && (
        <section class="message-detail" aria-label="HTTP exchange">
          <div class="detail-head">
            <h3>HTTP exchange</h3>
            <span class="space" />
            <button
              type="button"
              class="small quiet"
              aria-label="Close the exchange"
              onClick={() => (selected.value = undefined)}
            >
              ✕
            </button>
          </div>
          <HttpDetail exchange={exchange} />
        </section>
      )}
    </>
  )
}

function HttpRow({ exchange }: { exchange: EventOf<'http'> | undefined }) {
  if (exchange === undefined) return null
  const { method, url, status, durationMs, error, isAuth } = exchange
  const isBad = error !== undefined || (status ?? 0) >= 400
  return (
    <span class="wire-row">
      <span>{method}</span>
      <span class="clip dim">
        <Safe text={url} maxChars={300} />
      </span>
      {isAuth && <span class="badge">OAuth</span>}
      <span class={isBad ? 'badge bad' : 'badge'}>{status ?? (error === undefined ? '…' : 'failed')}</span>
      <span class="number">{durationMs === undefined ? '' : duration(durationMs)}</span>
    </span>
  )
}

function toTest(wire: Wire, { text, server }: Pick<WireFilter, 'text' | 'server'>): (id: string) => boolean {
  const wanted = text.trim().toLowerCase()
  return (id) => {
    const exchange = wire.exchange(id)
    if (exchange === undefined || (server !== undefined && exchange.server !== server)) return false
    return wanted === '' || JSON.stringify(exchange).toLowerCase().includes(wanted)
  }
}
