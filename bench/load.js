import { firstNumber } from './messages.js'

// The load generator. It has to be much cheaper than the servers it measures: messages are precomputed bytes, and
// responses are counted by their newlines. Some responses are kept and checked after the measurement.

/** A wrong response: its figures would be meaningless, so it ends the whole run. */
export class WrongAnswer extends Error {}

/**
 * Keeps `inFlight` requests of `deck` in flight until `seconds` have passed or `count` responses have arrived,
 * whichever is given. The first response, and every `sampleEvery`-th, goes to `check(answer, number)`.
 */
export async function pump(child, deck, { inFlight, seconds = Infinity, count = Infinity, sampleEvery = 500, check }) {
  const write = (bytes) => child.write(bytes)
  const from = deck.next
  const samples = []
  let answers = 0
  let sample = []
  let figures

  const cpuBefore = child.cpuSeconds()
  const start = performance.now()
  await child.listen(
    (chunk, done) => {
      const before = answers
      let at = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, at)) {
        if (sample !== undefined) {
          samples.push([...sample, chunk.subarray(at, end)])
          sample = undefined
        }
        answers++
        at = end + 1
        if (answers % sampleEvery === 0) sample = []
      }
      if (sample !== undefined && at < chunk.length) sample.push(chunk.subarray(at))

      // The measurement may only stop at the end of a response, or long responses would be cut off.
      if (figures === undefined && answers > before) {
        const elapsed = (performance.now() - start) / 1000
        if (elapsed >= seconds || answers >= count) {
          figures = { count: answers, seconds: elapsed, cpuSeconds: child.cpuSeconds() - cpuBefore }
        } else {
          deck.deal(answers - before, write)
        }
      }
      if (figures !== undefined && answers >= deck.next - from) done()
    },
    () => deck.deal(inFlight, write),
  )

  if (answers !== deck.next - from) throw new WrongAnswer(`${answers} answers to ${deck.next - from} requests`)
  for (const parts of samples) verify(Buffer.concat(parts), from, deck.next, check)
  return figures
}

/** Checks the text of one response; its number has to be one of those that were sent. */
export function verify(line, from, to, check) {
  const answer = JSON.parse(line.toString())
  if (!(answer.id >= from && answer.id < to)) throw new WrongAnswer(`an answer with the id ${answer.id}`)
  if (answer.result === undefined || answer.result.isError) throw new WrongAnswer(line.toString().slice(0, 500))
  const complaint = check(answer.result, answer.id)
  if (complaint) throw new WrongAnswer(`${complaint}: ${line.toString().slice(0, 500)}`)
}

/** The text of a request: by default for the template, with `number` for the expected response. */
export function payload(size, number = firstNumber) {
  return `${number} `.padEnd(size, 'The quick brown fox jumps over the lazy dog. ')
}
