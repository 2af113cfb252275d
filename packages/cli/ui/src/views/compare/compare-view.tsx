import { useMemo } from 'preact/hooks'
import { useApp } from '../../state/app.ts'
import { alignMessages, type ComparedMessage, compareJson, type MessagePair } from '../../store/compare.ts'
import type { OperationView } from '../../store/operations.ts'
import { duration } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'
import { ErrorView } from '../operation/error-view.tsx'

/** Lines of a message that are shown. */
const maxLines = 400

/** The same call on two revisions: messages side by side, differences marked. */
export function CompareView({ comparison }: { comparison: string }) {
  const { store, ui } = useApp()
  const version = store.operations.changes.watch()
  const [left, right] = store.operations.compared(comparison)
  const pairs = useMemo(() => alignMessages(left?.messages ?? [], right?.messages ?? []), [left, right, version])
  return (
    <section class="compare" aria-label="Comparison of revisions">
      <div class="compare-head">
        <h3>
          <Safe text={String(left?.params.name ?? left?.method ?? '')} maxChars={100} /> on two revisions
        </h3>
        <span class="space" />
        <button type="button" class="small" onClick={() => (ui.comparison.value = undefined)}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
      <div class="compare-sides compare-titles">
        <Side operation={left} />
        <Side operation={right} />
      </div>
      {pairs.map((pair) => (
        <Pair key={`${pair.left?.event.seq} ${pair.right?.event.seq}`} pair={pair} />
      ))}
      {pairs.length === 0 && <p class="dim">No messages yet.</p>}
    </section>
  )
}

function Side({ operation }: { operation: OperationView | undefined }) {
  if (operation === undefined) return <p class="dim">Starting…</p>
  const { ended, messages, revision } = operation
  return (
    <div>
      <h4>{revision ?? 'revision of the connection'}</h4>
      <p class="dim">
        {messages.length} messages · {ended === undefined ? 'running' : duration(ended.durationMs)}
      </p>
      {ended?.error && <ErrorView error={ended.error} />}
    </div>
  )
}

function Pair({ pair: { left, right } }: { pair: MessagePair }) {
  const lines = useMemo(() => compareJson(left?.event.message, right?.event.message), [left, right])
  const differences = lines.filter(({ isSame }) => !isSame).length
  const isLonely = left === undefined || right === undefined
  return (
    // A message without a counterpart says enough by its title.
    <details open={!isLonely} class="pair">
      <summary>
        <PairTitle message={left} />
        <PairTitle message={right} />
        <span class={differences === 0 || isLonely ? 'pair-note dim' : 'pair-note differs'}>
          {isLonely ? 'no counterpart' : describeDifferences(differences)}
        </span>
      </summary>
      <div class="compare-lines mono">
        {lines.slice(0, maxLines).map((line, index) => (
          <div key={index} class={line.isSame ? 'compare-sides' : 'compare-sides changed'}>
            <Line text={line.left} mark="−" isSame={line.isSame} />
            <Line text={line.right} mark="+" isSame={line.isSame} />
          </div>
        ))}
        {lines.length > maxLines && <p class="dim">{lines.length - maxLines} more lines</p>}
      </div>
    </details>
  )
}

function describeDifferences(count: number): string {
  return count === 0 ? 'same' : `${count} ${count === 1 ? 'line differs' : 'lines differ'}`
}

function Line({ text, mark, isSame }: { text: string | undefined; mark: string; isSame: boolean }) {
  if (text === undefined) return <span class="line absent" />
  return (
    <span class="line">
      <span class="line-mark">{isSame ? ' ' : mark}</span>
      <Safe text={text} maxChars={2_000} />
    </span>
  )
}

function PairTitle({ message }: { message: ComparedMessage | undefined }) {
  if (message === undefined) return <span class="dim">–</span>
  return (
    <span>
      {message.event.direction === 'sent' ? '→' : '←'} <Safe text={message.title} maxChars={80} />
    </span>
  )
}
