import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Measures the CPU time of other programs during a measurement: figures from a busy machine are not usable. */
export class MachineUsage {
  #machine = machineTicks()
  #own = ownTicks()

  /** Returns the share of all CPU time, from 0 to 1, since this object was created. */
  foreignShare() {
    const { busy, total } = machineTicks()
    const elapsed = total - this.#machine.total
    const foreign = busy - this.#machine.busy - (ownTicks() - this.#own)
    return Math.max(0, foreign / elapsed)
  }
}

/** Waits until other programs were idle for two seconds, but at most two minutes. */
export async function quietMoment() {
  const deadline = Date.now() + 120_000
  for (let quiet = 0; quiet < 2 && Date.now() < deadline; ) {
    const usage = new MachineUsage()
    await sleep(1000)
    quiet = usage.foreignShare() < 0.05 ? quiet + 1 : 0
  }
}

function machineTicks() {
  const [user, nice, system, idle, waiting, ...rest] = readFileSync('/proc/stat', 'latin1')
    .split('\n', 1)[0]
    .split(/\s+/)
    .slice(1, 9)
    .map(Number)
  const busy = [user, nice, system, ...rest].reduce((sum, ticks) => sum + ticks, 0)
  return { busy, total: busy + idle + waiting }
}

/** CPU ticks of this process and of all its descendants that have exited. */
function ownTicks() {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0)
}
