import { useMemo } from 'preact/hooks'
import { useApp } from '../../state/app.ts'
import { sizeStyle } from '../../state/sizes.ts'
import { wireViews } from '../../state/ui-state.ts'
import { toTest } from '../../store/wire-filter.ts'
import { count } from '../../text/format.ts'
import { useFiltered } from '../use-filtered.ts'
import { VirtualList } from '../virtual-list.tsx'
import { HttpView } from './http-view.tsx'
import { MessageDetail } from './message-detail.tsx'
import { MessageSplitter } from './message-splitter.tsx'
import { SequenceDiagram } from './sequence-diagram.tsx'
import { WireFilterBar } from './wire-filter-bar.tsx'
import { WireRowView } from './wire-row.tsx'

/** Every message, both directions, as a list or as a sequence diagram. */
export function WireColumn() {
  const { store, ui } = useApp()
  store.wire.changes.watch()
  store.servers.changes.watch()
  const filter = ui.wireFilter.value
  const isWanted = useMemo(() => toTest(filter), [filter])
  const rows = useFiltered(store.wire.rows, isWanted)
  const selected = store.wire.row(ui.wireRow.value)
  const hasManyServers = store.servers.all().length > 1
  return (
    <section class="column wire" aria-label="Wire" style={sizeStyle('message')}>
      <div class="column-head">
        <h2>Wire</h2>
        <nav class="segments" aria-label="View of the wire">
          {wireViews.map((view) => (
            <button
              type="button"
              key={view}
              aria-current={ui.wireView.value === view ? 'page' : undefined}
              onClick={() => (ui.wireView.value = view)}
            >
              {view === 'http' ? 'HTTP' : view}
            </button>
          ))}
        </nav>
        <span class="space" />
        <span class="dim" role="status">
          {count(rows.length, 'message')}
          {store.wire.rows.dropped > 0 && `, ${store.wire.rows.dropped.toLocaleString('en-US')} older ones dropped`}
        </span>
      </div>
      <WireFilterBar />
      {ui.wireView.value === 'diagram' && <SequenceDiagram rows={rows} count={rows.length} />}
      {ui.wireView.value === 'http' && <HttpView />}
      {ui.wireView.value === 'messages' && (
        <VirtualList
          label="messages"
          count={rows.length}
          rowHeight={24}
          selected={selected === undefined ? -1 : rows.indexOf(selected)}
          onSelect={(index) => (ui.wireRow.value = rows.at(index)?.event.seq)}
          isFollowing
          row={(index) => <WireRowView row={rows.at(index)} hasManyServers={hasManyServers} />}
        />
      )}
      {selected && ui.wireView.value !== 'http' && (
        <>
          <MessageSplitter />
          <MessageDetail key={selected.event.seq} row={selected} />
        </>
      )}
    </section>
  )
}
