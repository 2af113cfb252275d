import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const [given, address] = process.argv.slice(2)

/** The revision to use. */
export const revision = given

/** URL of the bare server, for clients over HTTP. */
export const url = address

/** Command of the bare server, for clients over stdio. */
export const bareServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../servers/bare.js', import.meta.url))],
}

/**
 * Serves the benchmark: every line `{ "seconds": n, "inFlight": n }` on stdin makes the client call for that time, and
 * is answered with a line of figures. Exits when stdin ends.
 */
export async function drive(call) {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await run(call, JSON.parse(line))))
  }
}

/** Keeps the given number of calls in flight and checks every response. */
async function run(call, { seconds, inFlight }) {
  const { user, system } = process.cpuUsage()
  const start = performance.now()
  let count = 0
  let wrong
  let over = false
  const worker = async () => {
    while (!over) {
      const text = `hello ${count++}`
      const { content } = await call(text)
      if (content[0].text !== text) wrong = `expected ${text}, received ${JSON.stringify(content)}`
      if (count % 64 === 0) over = performance.now() - start >= seconds * 1000
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  const elapsed = (performance.now() - start) / 1000
  const cpu = process.cpuUsage()
  return { count, seconds: elapsed, cpuSeconds: (cpu.user - user + cpu.system - system) / 1e6, wrong }
}
