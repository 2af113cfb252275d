import { warnOnce } from '../util/warn.ts'
import type { Call } from './call.ts'

/** Warns about messages after the end of a call. A cancelled handler may not have noticed yet, so it gets no warning. */
export function warnLate(what: 'progress' | 'log', { signal }: Pick<Call, 'signal'>): void {
  if (signal.aborted) return
  warnOnce(
    `late ${what}`,
    `ctx.${what} was called after the end of the request, so the message was not sent. Is an "await" missing in the handler?`,
  )
}
