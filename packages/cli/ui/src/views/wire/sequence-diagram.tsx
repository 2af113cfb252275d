import { useSignal } from '@preact/signals'
import { useApp } from '../../state/app.ts'
import type { Filtered } from '../../store/filtered.ts'
import { type SequenceArrow, toSequence } from '../../store/sequence.ts'
import type { WireRow } from '../../store/wire.ts'
import { duration } from '../../text/format.ts'
import { visibleLine } from '../../text/visible.ts'

/** As many messages as one can follow. */
const pageSize = 100
const rowHeight = 34
const headHeight = 40
const timeWidth = 50
const laneWidth = 232

/**
 * The messages as arrows between the client and its servers. The list grows in place, so its length is a property of its
 * own: a component whose properties are the same is not drawn again.
 */
export function SequenceDiagram({ rows, count }: { rows: Filtered<WireRow>; count: number }) {
  const { store } = useApp()
  const pages = useSignal(0)
  const end = Math.max(0, count - pages.value * pageSize)
  const start = Math.max(0, end - pageSize)
  const { lanes, arrows } = toSequence(rows, start, end)
  const clientX = timeWidth + 36
  const xOf = (lane: number) => clientX + laneWidth * (lane + 1)
  const width = xOf(Math.max(0, lanes.length - 1)) + 50
  const height = headHeight + arrows.length * rowHeight + 20
  if (arrows.length === 0) return <p class="empty">No messages.</p>
  return (
    <div class="diagram">
      <p class="row">
        {start > 0 && (
          <button type="button" class="small" onClick={() => pages.value++}>
            Earlier
          </button>
        )}
        {pages.value > 0 && (
          <button type="button" class="small" onClick={() => pages.value--}>
            Later
          </button>
        )}
        {count > pageSize && (
          <span class="dim">
            Messages {start + 1} to {end} of {count}
          </span>
        )}
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: A diagram has no element of its own. */}
      <svg width={width} height={height} role="group" aria-label="Sequence diagram">
        <Lane x={clientX} height={height} name="inspector" />
        {lanes.map(({ server, revision }, index) => (
          <Lane
            key={`${server} ${revision}`}
            x={xOf(index)}
            height={height}
            name={[visibleLine(store.servers.get(server)?.name ?? server, 24), revision].filter(Boolean).join(' ')}
          />
        ))}
        {arrows.map((arrow, index) => (
          <Arrow
            key={arrow.row.event.seq}
            arrow={arrow}
            y={headHeight + (index + 1) * rowHeight - 8}
            from={clientX}
            to={xOf(arrow.lane)}
          />
        ))}
      </svg>
    </div>
  )
}

function Lane({ x, height, name }: { x: number; height: number; name: string }) {
  return (
    <g class="lane">
      <text x={x} y={18} text-anchor="middle">
        {name}
      </text>
      <line x1={x} y1={26} x2={x} y2={height} />
    </g>
  )
}

function Arrow({ arrow, y, from, to }: { arrow: SequenceArrow; y: number; from: number; to: number }) {
  const { ui } = useApp()
  const { row, durationMs } = arrow
  const isSent = row.event.direction === 'sent'
  const label = visibleLine(arrow.label, 200)
  const select = () => {
    ui.wireRow.value = row.event.seq
  }
  const [tail, head] = isSent ? [from, to] : [to, from]
  const tip = isSent ? head - 7 : head + 7
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no buttons.
    <g
      class={`arrow-line ${row.kind} ${row.event.direction}`}
      role="button"
      tabIndex={0}
      aria-pressed={ui.wireRow.value === row.event.seq}
      onClick={select}
      onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && select()}
    >
      <rect x={0} y={y - rowHeight + 8} width={to + 50} height={rowHeight} />
      <text class="time" x={timeWidth} y={y + 4} text-anchor="end">
        {duration(arrow.offsetMs)}
      </text>
      <line x1={tail} y1={y} x2={tip} y2={y} />
      <path d={`M${head} ${y} L${tip} ${y - 4} L${tip} ${y + 4} Z`} />
      <text x={(from + to) / 2} y={y - 6} text-anchor="middle">
        {isSent ? '→' : '←'} {label.length > 40 ? `${label.slice(0, 39)}…` : label}
      </text>
      {durationMs !== undefined && (
        <text class="time" x={(from + to) / 2} y={y + 12} text-anchor="middle">
          {duration(durationMs)}
        </text>
      )}
    </g>
  )
}
