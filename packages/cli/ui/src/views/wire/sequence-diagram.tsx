import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
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
const clientX = timeWidth + 36
/** Room for half of the name of the last server. */
const endWidth = 44
/** With more servers than fit, the diagram scrolls. */
const minLaneWidth = 84
/** Of the labels, in the monospaced font of the diagram. */
const charWidth = 6.7

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
  const pane = useRef<HTMLDivElement>(null)
  const laneWidth = Math.max(minLaneWidth, (usePaneWidth(pane) - clientX - endWidth) / Math.max(1, lanes.length))
  const xOf = (lane: number) => clientX + laneWidth * (lane + 1)
  const width = xOf(Math.max(0, lanes.length - 1)) + endWidth
  const height = headHeight + arrows.length * rowHeight + 20
  return (
    <div class="diagram" ref={pane}>
      {arrows.length === 0 && <p class="empty">No messages.</p>}
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
        <Lane x={clientX} height={height} name="inspector" width={2 * endWidth} />
        {lanes.map(({ server, revision }, index) => (
          <Lane
            key={`${server} ${revision}`}
            x={xOf(index)}
            height={height}
            width={index === lanes.length - 1 ? Math.min(laneWidth, 2 * endWidth) : laneWidth}
            name={[revision, visibleLine(store.servers.get(server)?.name ?? server, 60)].filter(Boolean).join(' ')}
          />
        ))}
        {arrows.map((arrow, index) => (
          <Arrow
            key={arrow.row.event.seq}
            arrow={arrow}
            y={headHeight + (index + 1) * rowHeight - 8}
            to={xOf(arrow.lane)}
            width={width}
          />
        ))}
      </svg>
    </div>
  )
}

function Lane({ x, height, width, name }: { x: number; height: number; width: number; name: string }) {
  const chars = Math.floor(width / 7.6)
  return (
    <g class="lane">
      <title>{name}</title>
      <text x={x} y={18} text-anchor="middle">
        {name.length > chars ? `${name.slice(0, chars - 1)}…` : name}
      </text>
      <line x1={x} y1={26} x2={x} y2={height} />
    </g>
  )
}

function Arrow({ arrow, y, to, width }: { arrow: SequenceArrow; y: number; to: number; width: number }) {
  const { ui } = useApp()
  const { row, durationMs } = arrow
  const isSent = row.event.direction === 'sent'
  const label = visibleLine(arrow.label, 200)
  const select = () => {
    ui.wireRow.value = row.event.seq
  }
  // The label begins at the client and may pass the line of its server.
  const chars = Math.floor((width - clientX) / charWidth) - 4
  const [tail, head] = isSent ? [clientX, to] : [to, clientX]
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
      <rect x={0} y={y - rowHeight + 8} width={width} height={rowHeight} />
      <text class="time" x={timeWidth} y={y + 4} text-anchor="end">
        {duration(arrow.offsetMs)}
      </text>
      <line x1={tail} y1={y} x2={tip} y2={y} />
      <path d={`M${head} ${y} L${tip} ${y - 4} L${tip} ${y + 4} Z`} />
      <text class="label" x={clientX + 8} y={y - 6}>
        {isSent ? '→' : '←'} {label.length > chars ? `${label.slice(0, chars - 1)}…` : label}
      </text>
      {durationMs !== undefined && (
        <text class="time label" x={clientX + 8} y={y + 12}>
          {duration(durationMs)}
        </text>
      )}
    </g>
  )
}

/** The width of the pane without its padding. */
function usePaneWidth(pane: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    if (!pane.current) return
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0))
    observer.observe(pane.current)
    return () => observer.disconnect()
  }, [pane])
  return width
}
