import type { Call } from '../era/call.ts'
import { warnOnce } from '../util/warn.ts'

/** After the answer nothing can be sent for a call. A handler that was cancelled may not have noticed yet. */
export function warnLate(what: 'progress' | 'log', { signal }: Pick<Call, 'signal'>): void {
  if (signal.aborted) return
  warnOnce(
    `late ${what}`,
    `ctx.${what} was used after the call had ended, and was not sent. Is an await missing in the handler?`,
  )
}
