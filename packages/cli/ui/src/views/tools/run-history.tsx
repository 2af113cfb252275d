import { useSignal } from '@preact/signals'
import { useApp } from '../../state/app.ts'
import type { OperationView as Operation } from '../../store/operations.ts'
import { clockTime } from '../../text/format.ts'
import { OperationView } from '../operation/operation-view.tsx'

interface RunHistoryProps {
  readonly server: string
  readonly method: string
  readonly isMine: (params: Readonly<Record<string, unknown>>) => boolean
}

/** The newest run of a request, and a choice of earlier ones. */
export function RunHistory({ server, method, isMine }: RunHistoryProps) {
  const { store } = useApp()
  const chosen = useSignal<{ operation: string; outOf: number } | undefined>(undefined)
  store.operations.changes.watch()
  const runs = store.operations.of(server, (run) => run.method === method && isMine(run.params))
  const newest = runs[0]
  if (newest === undefined) return null
  // A new run replaces the choice.
  const isValid = chosen.value?.outOf === runs.length
  const shown = (isValid && runs.find((run) => run.operation === chosen.value?.operation)) || newest
  return (
    <div class="runs">
      {runs.length > 1 && (
        <label class="row dim">
          Run
          <select
            class="small"
            value={shown.operation}
            onChange={(event) => (chosen.value = { operation: event.currentTarget.value, outOf: runs.length })}
          >
            {runs.slice(0, 200).map((run, index) => (
              <option key={run.operation} value={run.operation}>
                {runName(run, runs.length - index)}
              </option>
            ))}
          </select>
        </label>
      )}
      <OperationView operation={shown.operation} />
    </div>
  )
}

function runName(run: Operation, number: number): string {
  const outcome = run.ended === undefined ? 'running' : run.ended.error ? 'failed' : 'done'
  return `${number} · ${clockTime(run.startedAt)} · ${outcome}`
}
