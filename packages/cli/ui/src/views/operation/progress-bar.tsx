import { useEffect, useState } from 'preact/hooks'
import type { OperationView } from '../../store/operations.ts'
import { duration } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'

/** The progress that the server reports, and how long the request runs. */
export function ProgressBar({ operation }: { operation: OperationView }) {
  const { progress, startedAt } = operation
  const elapsedMs = useElapsed(startedAt)
  const value = progress?.total === undefined ? undefined : Math.min(progress.progress, progress.total)
  return (
    <div class="progress">
      <progress aria-label="Progress" value={value} max={progress?.total ?? 1} />
      <span class="dim">
        {progress && `${progress.progress}${progress.total === undefined ? '' : ` of ${progress.total}`} · `}
        {duration(elapsedMs)}
      </span>
      {progress?.message && <Safe text={progress.message} maxChars={500} />}
    </div>
  )
}

function useElapsed(since: number): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(timer)
  }, [])
  return Math.max(0, now - since)
}
