import { useApp } from '../../state/app.ts'
import type { WireFilter } from '../../store/wire-filter.ts'
import { Safe } from '../../text/safe.tsx'
import { visibleLine } from '../../text/visible.ts'

const kinds = ['request', 'response', 'error', 'notification', 'invalid'] as const
const directions = ['sent', 'received'] as const

/** Search and filters of the wire. */
export function WireFilterBar() {
  const { store, ui } = useApp()
  store.servers.changes.watch()
  store.operations.changes.watch()
  const filter = ui.wireFilter.value
  const change = (next: Partial<WireFilter>) => (ui.wireFilter.value = { ...filter, ...next })
  const operation = store.operations.get(filter.operation)
  return (
    <div class="wire-filter">
      <input
        type="search"
        placeholder="Search messages  /"
        aria-label="Search messages"
        value={filter.text}
        onInput={(event) => change({ text: event.currentTarget.value })}
      />
      <select
        class="small"
        aria-label="Server"
        value={filter.server ?? ''}
        onChange={(event) => change({ server: event.currentTarget.value || undefined })}
      >
        <option value="">all servers</option>
        {store.servers.all().map(({ server, name }) => (
          <option key={server} value={server}>
            {visibleLine(name, 40)}
          </option>
        ))}
      </select>
      <select
        class="small"
        aria-label="Kind of message"
        value={filter.kind ?? ''}
        onChange={(event) => change({ kind: kinds.find((kind) => kind === event.currentTarget.value) })}
      >
        <option value="">all kinds</option>
        {kinds.map((kind) => (
          <option key={kind} value={kind}>
            {kind}s
          </option>
        ))}
      </select>
      <select
        class="small"
        aria-label="Direction"
        value={filter.direction ?? ''}
        onChange={(event) => change({ direction: directions.find((each) => each === event.currentTarget.value) })}
      >
        <option value="">both directions</option>
        <option value="sent">→ sent</option>
        <option value="received">← received</option>
      </select>
      {filter.operation !== undefined && (
        <button type="button" class="small chip" onClick={() => change({ operation: undefined })}>
          only{' '}
          <Safe
            text={String(operation?.params.name ?? operation?.params.uri ?? operation?.method ?? 'one call')}
            maxChars={30}
          />{' '}
          ✕
        </button>
      )}
    </div>
  )
}
