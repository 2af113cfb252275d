import { bundleSize } from './bundle.js'
import { echoes, listsAll } from './checks.js'
import { Child } from './child.js'
import { clientLoad } from './client-load.js'
import { compatGroups } from './compat-cases.js'
import { formArguments } from './definitions.js'
import { median, rate } from './figures.js'
import { gatewayGroups } from './gateway-cases.js'
import { httpGroups } from './http-cases.js'
import { payload, pump, WrongAnswer } from './load.js'
import { Deck, handshake, initialize, initialized, request, stateless } from './messages.js'

// A group starts one subject per contestant, usually a fresh process, and its cases measure them in short slices:
// `slice(subject)` returns a sample, and `figure(samples)` the value that targets refer to and, where it makes sense,
// the CPU microseconds that the contestant spent per message.

const all = ['bare', 'official-v1', 'official-v2', 'tenon']
// The v1 line of the official packages does not support 2026-07-28.
const modern = ['bare', 'official-v2', 'tenon']

export const groups = [
  calls(handshake, all, [
    { name: 'call-64', inFlight: 64, target: { atLeast: 0.6 } },
    { name: 'call-1', inFlight: 1, target: { atLeast: 0.9 } },
  ]),
  calls(stateless, modern, [
    { name: 'call-64-2026', inFlight: 64, target: { atLeast: 0.5 } },
    { name: 'call-1-2026', inFlight: 1 },
  ]),
  form(),
  list(),
  echo([
    { name: 'echo-1mb', size: 1e6, sampleEvery: 20 },
    { name: 'echo-10mb', size: 1e7, sampleEvery: 4 },
  ]),
  clientCalls('client-16', handshake, ['bare', 'bare-one-write', ...all.slice(1)], { target: { atLeast: 0.7 } }),
  clientCalls('client-16-2026', stateless, modern, { maxRounds: 3 }),
  coldStart(),
  memory(),
  bundle(),
  ...httpGroups,
  ...gatewayGroups,
  ...compatGroups(calls),
]

function calls(revision, contestants, cases) {
  const message = request(revision, 'tools/call', { name: 'echo', arguments: { text: payload(20) } })
  const options = { deck: new Deck(message, 1024), check: (result, number) => echoes(result, payload(20, number)) }
  return {
    contestants,
    start: (contestant) => openServer(contestant, revision),
    warmUp: load({ ...options, inFlight: 64, warmUpCount: 100_000 }).warmUp,
    cases: cases.map(({ name, inFlight, target }) => ({
      name,
      title: `\`tools/call\` over stdio, ${inFlight} in flight, ${revision}`,
      unit: 'calls/s',
      target,
      ...load({ ...options, inFlight }),
    })),
  }
}

function form() {
  return {
    contestants: all,
    maxRounds: 3,
    start: (contestant) => openServer(contestant, handshake, { BENCH_FORM: '1' }),
    cases: [
      {
        name: 'form',
        title: '`tools/call` with a schema of 30 fields, 64 in flight, 2025-11-25',
        unit: 'calls/s',
        ...load({
          inFlight: 64,
          warmUpCount: 100_000,
          deck: new Deck(
            request(handshake, 'tools/call', { name: 'form', arguments: formArguments(payload(20)) }),
            1024,
          ),
          check: (result, number) => echoes(result, payload(20, number)),
        }),
      },
    ],
  }
}

function list() {
  return {
    contestants: all,
    start: (contestant) => openServer(contestant, handshake, { BENCH_TOOLS: '1000' }),
    cases: [
      {
        name: 'list-1000',
        title: '`tools/list` of 1,000 tools, 1 in flight, 2025-11-25',
        unit: 'lists/s',
        slices: 4,
        target: { atLeast: 1 },
        ...load({
          inFlight: 1,
          warmUpCount: 200,
          sampleEvery: 40,
          deck: new Deck(request(handshake, 'tools/list', {}), 1),
          check: listsAll,
        }),
      },
    ],
  }
}

function echo(cases) {
  return {
    contestants: all,
    start: (contestant) => openServer(contestant, handshake),
    cases: cases.map(({ name, size, sampleEvery }) => ({
      name,
      title: `echo of ${size / 1e6} MB, 1 in flight, 2025-11-25`,
      unit: 'MB/s',
      slices: 4,
      target: { atLeast: 0.9 },
      ...load({
        inFlight: 1,
        warmUpCount: 5e7 / size,
        sampleEvery,
        // Few of these calls fit into a slice.
        stretch: 2,
        amount: size / 1e6,
        deck: new Deck(request(handshake, 'tools/call', { name: 'echo', arguments: { text: payload(size) } }), 1),
        check: (result, number) => echoes(result, payload(size, number)),
      }),
    })),
  }
}

/**
 * A server under load. The warm-up ends at its count or after its time, whichever comes first: slow servers need the
 * time because their code is compiled while they run; fast ones reach the count.
 */
function load({ deck, warmUpCount, stretch = 1, amount = 1, ...options }) {
  const warmUp = (child, { warmUpSeconds }) =>
    pump(child, deck, { ...options, count: warmUpCount, seconds: warmUpSeconds })
  return {
    warmUp: warmUpCount === undefined ? undefined : warmUp,
    slice: (child, { sliceSeconds }) => pump(child, deck, { ...options, seconds: sliceSeconds * stretch }),
    figure: (samples) => rate(samples, amount),
  }
}

async function openServer(contestant, revision, env) {
  const child = new Child(`servers/${contestant}.js`, { env })
  try {
    await greet(child, revision)
    return child
  } catch (error) {
    await child.close()
    throw error
  }
}

/** Performs the handshake or the discovery of the revision. */
async function greet(child, revision) {
  if (revision === stateless) {
    const { result } = await child.ask({ ...request(stateless, 'server/discover', {}), id: 1 })
    if (!result?.supportedVersions?.includes(stateless)) throw new WrongAnswer(`discover: ${JSON.stringify(result)}`)
    return
  }
  const { result } = await child.ask(initialize)
  if (result?.protocolVersion !== handshake) throw new WrongAnswer(`initialize: ${JSON.stringify(result)}`)
  child.tell(initialized)
}

/** The contestant is the client; all clients call the bare server. */
function clientCalls(name, revision, contestants, { target, maxRounds }) {
  return {
    contestants,
    maxRounds,
    start: async (contestant) => new Child(`clients/${contestant}.js`, { args: [revision] }),
    cases: [
      {
        name,
        title: `client over stdio against the bare server, 16 in flight, ${revision}`,
        unit: 'calls/s',
        target,
        slices: 4,
        ...clientLoad(16),
      },
    ],
  }
}

function coldStart() {
  const listTools = { ...request(handshake, 'tools/list', {}), id: 2 }
  return {
    contestants: ['bare', 'bare-with-zod', 'official-v1', 'official-v2', 'tenon', 'tenon-json-schema'],
    start: async (contestant) => ({ contestant, close: async () => {} }),
    cases: [
      {
        name: 'cold-start',
        title: 'from spawn to `tools/list` answered, 2025-11-25',
        unit: 'ms',
        slices: 3,
        compare: 'above',
        // The SDK cannot reduce the load time of the user's schema library, so each contestant has its own baseline.
        target: { atMost: 50, pairs: { 'tenon-json-schema': 'bare', tenon: 'bare-with-zod' } },
        async slice({ contestant }) {
          const start = performance.now()
          const child = await openServer(contestant, handshake)
          try {
            const { result } = await child.ask(listTools)
            const milliseconds = performance.now() - start
            if (result?.tools?.[0]?.name !== 'echo') throw new WrongAnswer(`tools/list: ${JSON.stringify(result)}`)
            return milliseconds
          } finally {
            await child.close()
          }
        },
        figure: (samples) => ({ value: median(samples) }),
      },
    ],
  }
}

function memory() {
  const deck = new Deck(request(handshake, 'tools/call', { name: 'echo', arguments: { text: payload(20) } }), 1024)
  const check = (result, number) => echoes(result, payload(20, number))
  return {
    contestants: all,
    // Slow for some contestants, but stable.
    maxRounds: 3,
    start: (contestant) => openServer(contestant, handshake),
    cases: [
      {
        name: 'memory',
        title: 'resident memory after 100,000 calls, above idle, 64 in flight, 2025-11-25',
        unit: 'MB',
        compare: 'above',
        slices: 1,
        async slice(child) {
          await pump(child, deck, { inFlight: 1, count: 1, check })
          const idle = child.residentMb()
          await pump(child, deck, { inFlight: 64, count: 100_000, check })
          return child.residentMb() - idle
        },
        figure: ([value]) => ({ value }),
      },
    ],
  }
}

function bundle() {
  const size = { unit: 'KB', compare: 'none', slices: 1, figure: ([value]) => ({ value }) }
  return {
    contestants: ['official-v1', 'official-v2', 'tenon'],
    maxRounds: 1,
    start: async (contestant) => ({ program: `servers/${contestant}.js`, close: async () => {} }),
    cases: [
      {
        ...size,
        name: 'bundle',
        title: 'a stdio server, bundled, minified and gzipped, zod left out',
        target: { atMost: 53 },
        slice: ({ program }) => bundleSize(program, { withZod: false }),
      },
      {
        ...size,
        name: 'bundle-with-zod',
        title: 'the same with all it needs',
        slice: ({ program }) => bundleSize(program, { withZod: true }),
      },
    ],
  }
}
