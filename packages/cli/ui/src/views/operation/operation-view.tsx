import { useApp } from '../../state/app.ts'
import type { OperationView as Operation } from '../../store/operations.ts'
import { duration } from '../../text/format.ts'
import { ResultView } from '../result/result-view.tsx'
import { CopyMenu } from './copy-menu.tsx'
import { ErrorView } from './error-view.tsx'
import { ProgressBar } from './progress-bar.tsx'

/** A request: how it goes, what came of it, and what can be done with it. */
export function OperationView({ operation: id }: { operation: string }) {
  const { store } = useApp()
  store.operations.changes.watch()
  const operation = store.operations.get(id)
  if (operation === undefined) return <p class="dim">Sending…</p>
  const { ended } = operation
  return (
    <section class="operation" aria-label={`Result of ${operation.method}`}>
      <OperationHead operation={operation} />
      {ended === undefined && <ProgressBar operation={operation} />}
      {ended?.error && <ErrorView error={ended.error} />}
      {ended && !ended.error && (
        <div class={isToolError(ended.result) ? 'result is-error' : 'result'}>
          <ResultView result={ended.result} server={operation.server} output={ended.output} />
        </div>
      )}
    </section>
  )
}

function OperationHead({ operation }: { operation: Operation }) {
  const app = useApp()
  const { ended } = operation
  const replay = () =>
    app.operate(operation.server, {
      method: operation.method,
      params: operation.params,
      revision: operation.revision,
    })
  return (
    <div class="operation-head">
      <Outcome operation={operation} />
      <span class="space" />
      {ended === undefined ? (
        <button
          type="button"
          class="small"
          disabled={!app.isLive}
          onClick={() => app.run((b) => b.cancel(operation.operation))}
        >
          Cancel
        </button>
      ) : (
        <button type="button" class="small quiet" disabled={!app.isLive} onClick={replay}>
          Run again
        </button>
      )}
      <button type="button" class="small quiet" onClick={() => app.ui.showOnWire(operation.operation)}>
        Messages
      </button>
      <button type="button" class="small quiet" onClick={() => app.ui.showOnWire(operation.operation, 'diagram')}>
        Round trips
      </button>
      {operation.comparison !== undefined && (
        <button type="button" class="small quiet" onClick={() => (app.ui.comparison.value = operation.comparison)}>
          Comparison
        </button>
      )}
      <CopyMenu operation={operation} />
    </div>
  )
}

function Outcome({ operation: { ended, revision } }: { operation: Operation }) {
  const on = revision === undefined ? '' : ` on ${revision}`
  if (ended === undefined) return <span role="status">Running{on}…</span>
  const isBad = ended.error !== undefined || isToolError(ended.result)
  return (
    <span role="status" class={isBad ? 'problem' : 'good'}>
      {ended.error ? '✗ failed' : isBad ? '✗ tool error' : '✓ done'}{' '}
      <span class="dim">{duration(ended.durationMs) + on}</span>
    </span>
  )
}

function isToolError(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'isError' in result && result.isError === true
}
