import { rate } from './figures.js'
import { WrongAnswer } from './load.js'

/**
 * A client under load, which makes the calls itself: see clients/drive.js. The warm-up ends after `warmUpCount` calls
 * or after its time, which `warmUpStretch` extends, whichever comes first.
 */
export function clientLoad(inFlight, { warmUpCount = Infinity, warmUpStretch = 1 } = {}) {
  const run = async (client, seconds) => {
    const sample = await client.ask({ seconds, inFlight })
    if (sample.wrong) throw new WrongAnswer(sample.wrong)
    return sample
  }
  return {
    // In several parts, because the code that starts and ends a slice has to be warm too.
    async warmUp(client, { warmUpSeconds }) {
      const end = performance.now() + warmUpSeconds * warmUpStretch * 1000
      for (let count = 0; count < warmUpCount && performance.now() < end; ) {
        count += (await run(client, warmUpSeconds / 10)).count
      }
    },
    slice: (client, { sliceSeconds }) => run(client, sliceSeconds * 2),
    figure: (samples) => rate(samples),
  }
}
