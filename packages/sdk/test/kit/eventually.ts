import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls until the condition holds. Use it only where there is no event to wait for. The deadline is generous because the
 * machine may be busy; it does not follow a faked `Date`.
 */
export async function eventually(condition: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<void> {
  const deadline = process.hrtime.bigint() + BigInt(withinMs) * 1_000_000n
  while (!(await condition())) {
    if (process.hrtime.bigint() > deadline) throw new Error(`Timed out waiting for ${condition}`)
    await sleep(5)
  }
}
