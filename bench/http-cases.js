import { echoes, listsAll } from './checks.js'
import { Child } from './child.js'
import { clientLoad } from './client-load.js'
import { rate } from './figures.js'
import { pumpHttp } from './http-load.js'
import { HttpServer } from './http-server.js'
import { payload } from './load.js'
import { handshake, stateless } from './messages.js'

// The cases over HTTP, structured like those in cases.js.

const all = ['bare', 'official-v1', 'official-v2', 'tenon']
// The v1 line of the official packages does not support 2026-07-28.
const modern = ['bare', 'official-v2', 'tenon']
// Code is compiled after a number of calls, which take ten times as long as over stdio.
const warmUpStretch = 2
const labels = { bare: 'bare `node:http`' }

export const httpGroups = [
  calls('stateless', all, { name: 'http-call-32', title: 'no sessions, 2025-11-25' }),
  calls('sessions', all, { name: 'http-call-32-sessions', title: 'each with a session, 2025-11-25' }),
  calls('2026', modern, { name: 'http-call-32-2026', title: '2026-07-28' }),
  list(),
  echo([
    { name: 'http-echo-1mb', size: 1e6, sampleEvery: 20 },
    { name: 'http-echo-10mb', size: 1e7, sampleEvery: 4 },
  ]),
  clientCalls(handshake, all, [
    { name: 'http-client-16', inFlight: 16, target: { atLeast: 0.8 } },
    { name: 'http-client-1', inFlight: 1 },
  ]),
  clientCalls(stateless, modern, [{ name: 'http-client-16-2026', inFlight: 16 }], { maxRounds: 3 }),
  sessionHeap(2000),
  memory(),
]

function calls(mode, contestants, { name, title }) {
  return {
    contestants,
    labels,
    start: (contestant) => HttpServer.open(contestant, mode, { connections: 32 }),
    cases: [
      {
        name,
        title: `\`tools/call\` over HTTP, 32 connections, ${title}`,
        unit: 'calls/s',
        target: { atLeast: 0.85 },
        ...load(echoCall(20), { warmUpCount: 100_000, stretch: 2 }),
      },
    ],
  }
}

function list() {
  return {
    contestants: all,
    labels,
    start: (contestant) => HttpServer.open(contestant, 'sessions', { env: { BENCH_TOOLS: '1000' } }),
    cases: [
      {
        name: 'http-list-1000',
        title: '`tools/list` of 1,000 tools over HTTP, 1 connection, 2025-11-25',
        unit: 'lists/s',
        slices: 4,
        target: { atLeast: 2 },
        ...load({ method: 'tools/list', params: {}, check: listsAll }, { warmUpCount: 200, sampleEvery: 40 }),
      },
    ],
  }
}

function echo(cases) {
  return {
    contestants: all,
    labels,
    start: (contestant) => HttpServer.open(contestant, 'sessions'),
    cases: cases.map(({ name, size, sampleEvery }) => ({
      name,
      title: `echo of ${size / 1e6} MB over HTTP, 1 connection, 2025-11-25`,
      unit: 'MB/s',
      slices: 4,
      target: { atLeast: 0.9 },
      // Few of these calls fit into a slice.
      ...load(echoCall(size), { warmUpCount: 5e7 / size, sampleEvery, stretch: 2, amount: size / 1e6 }),
    })),
  }
}

function echoCall(size) {
  return {
    method: 'tools/call',
    params: { name: 'echo', arguments: { text: payload(size) } },
    check: (result, number) => echoes(result, payload(size, number)),
  }
}

/** A server under load; the warm-up is the same as in cases.js. */
function load(call, { warmUpCount, sampleEvery, stretch = 1, amount = 1 }) {
  const pump = (server, limits) => pumpHttp(server, { ...limits, sampleEvery, check: call.check })
  return {
    async warmUp(server, { warmUpSeconds }) {
      server.prepare(call)
      await pump(server, { count: warmUpCount, seconds: warmUpSeconds * warmUpStretch })
    },
    slice: (server, { sliceSeconds }) => pump(server, { seconds: sliceSeconds * stretch }),
    figure: (samples) => rate(samples, amount),
  }
}

/** The contestant is the client. Each client calls its own bare server. */
function clientCalls(revision, contestants, cases, { maxRounds } = {}) {
  return {
    contestants,
    labels,
    maxRounds,
    start: (contestant) => openClient(contestant, revision),
    cases: cases.map(({ name, inFlight, target }) => ({
      name,
      title: `client over HTTP against the bare server, ${inFlight} in flight, ${revision}`,
      unit: 'calls/s',
      target,
      slices: 4,
      // The Node.js client is slow for its first ten thousand calls; a time limit alone would favour fast contestants.
      ...clientLoad(inFlight, { warmUpCount: 20_000, warmUpStretch: 4 }),
    })),
  }
}

async function openClient(contestant, revision) {
  const server = await HttpServer.open('bare', revision === stateless ? '2026' : 'sessions', { connections: 0 })
  const client = new Child(`clients/http/${contestant}.js`, { args: [revision, server.url] })
  return {
    ask: (message) => client.ask(message),
    async close() {
      await client.close()
      await server.close()
    },
  }
}

/** Heap per session in the process of the server, after garbage collection. */
function sessionHeap(count) {
  const kilobytes = { unit: 'KB', compare: 'none', slices: 1, figure: ([value]) => ({ value }) }
  const perSession = async ({ server, base }) => ((await server.heapBytes()) - base) / count / 1000
  const open = async (subject) => {
    subject.sessions ??= await subject.server.openSessions(count)
  }
  return {
    contestants: all,
    labels,
    maxRounds: 3,
    start: openSessionServer,
    cases: [
      {
        ...kilobytes,
        name: 'http-session-heap',
        title: `heap per session, ${count.toLocaleString('en-US')} sessions, 2025-11-25`,
        target: { atMost: 3 },
        async slice(subject) {
          await open(subject)
          return perSession(subject)
        },
      },
      {
        ...kilobytes,
        name: 'http-stream-heap',
        title: `the same with the stream of every session open`,
        target: { atMost: 10 },
        async slice(subject) {
          await open(subject)
          const streams = await subject.server.openStreams(subject.sessions)
          const value = await perSession(subject)
          for (const stream of streams) stream.destroy()
          return value
        },
      },
    ],
  }
}

/** Starts a server and opens some sessions and streams before the heap is measured, so that its code does not count. */
async function openSessionServer(contestant) {
  const server = await HttpServer.open(contestant, 'sessions', { connections: 8, nodeArgs: ['--expose-gc'] })
  try {
    await server.openStreams(await server.openSessions(200))
    return { server, base: await server.heapBytes(), close: () => server.close() }
  } catch (error) {
    await server.close()
    throw error
  }
}

function memory() {
  const call = echoCall(20)
  return {
    contestants: all,
    labels,
    // Slow for some contestants, but stable.
    maxRounds: 2,
    start: (contestant) => HttpServer.open(contestant, 'sessions', { connections: 32 }),
    cases: [
      {
        name: 'http-memory',
        title: 'resident memory after 100,000 calls over HTTP, above idle, 32 connections, 2025-11-25',
        unit: 'MB',
        compare: 'none',
        target: { atMost: 30 },
        slices: 1,
        async slice(server) {
          server.prepare(call)
          await pumpHttp(server, { count: 1, check: call.check })
          const idle = server.child.residentMb()
          await pumpHttp(server, { count: 100_000, check: call.check })
          return server.child.residentMb() - idle
        },
        figure: ([value]) => ({ value }),
      },
    ],
  }
}
