import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'

/** What is measured: `stateless`, `sessions` (both on 2025-11-25) or `2026`. */
export const mode = process.env.BENCH_MODE

/** Serves on a free port of this machine. */
export async function stand(listener) {
  // As long as Tenon keeps them. Contestants take turns, and after Node's five seconds their connections would be gone.
  const server = createServer({ keepAliveTimeout: 75_000 }, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await obey(`http://127.0.0.1:${server.address().port}/mcp`)
}

/** Serves the one who measures: every line on stdin wants a value and is answered by a line. Ends when stdin does. */
export async function obey(url) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { want } = JSON.parse(line)
    console.log(JSON.stringify(want === 'heap' ? await heapBytes() : url))
  }
  process.exit()
}

/** Collects and parses the body, as servers do in front of a handler that wants it parsed. */
export function readBody(request, done) {
  const parts = []
  request.on('data', (chunk) => parts.push(chunk))
  request.on('end', () => done(JSON.parse((parts.length === 1 ? parts[0] : Buffer.concat(parts)).toString())))
}

/** The heap in use when all garbage is gone; some of it only goes when callbacks that wait for a turn have run. */
async function heapBytes() {
  for (let n = 0; n < 5; n++) {
    globalThis.gc()
    await turn()
  }
  return process.memoryUsage().heapUsed
}
