import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'

/** The measured mode: `stateless`, `sessions` (both on 2025-11-25) or `2026`. */
export const mode = process.env.BENCH_MODE

/** Serves on a free local port. */
export async function stand(listener) {
  // The same as in Tenon. Contestants alternate, and the default of five seconds would close idle connections.
  const server = createServer({ keepAliveTimeout: 75_000 }, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await obey(`http://127.0.0.1:${server.address().port}/mcp`)
}

/**
 * Serves the benchmark: every line on stdin requests a value and is answered with a line. Exits when stdin ends.
 *
 * @param url The URL of the server, or a promise of it.
 */
export async function obey(url) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { want } = JSON.parse(line)
    process.stdout.write(`${JSON.stringify(want === 'heap' ? await heapBytes() : await url)}\n`)
  }
  process.exit()
}

/** Reads and parses the body, for handlers that expect a parsed body. */
export function readBody(request, done) {
  const parts = []
  request.on('data', (chunk) => parts.push(chunk))
  request.on('end', () => done(JSON.parse((parts.length === 1 ? parts[0] : Buffer.concat(parts)).toString())))
}

/** Returns the heap in use after garbage collection; some garbage is only freed after pending callbacks have run. */
async function heapBytes() {
  for (let n = 0; n < 5; n++) {
    globalThis.gc()
    await turn()
  }
  return process.memoryUsage().heapUsed
}
