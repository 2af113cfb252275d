import { echoes } from './checks.js'
import { rate } from './figures.js'
import { pumpHttp } from './http-load.js'
import { HttpServer } from './http-server.js'
import { payload } from './load.js'

// The cases of gateways, structured like those in cases.js. The baseline is a server that is called without a gateway.
// CPU is that of the gateway alone, not of the server behind it.

const connections = 32
const cpuTarget = { cpuAtMost: 300 }
const labels = {
  direct: 'no gateway',
  tenon: 'Tenon gateway',
  'tenon-audit': 'Tenon gateway, audit file',
  'mcp-proxy': 'mcp-proxy 6.7.19',
  supergateway: 'supergateway 4.0.0',
}
/** Whoever calls through the gateway of Tenon names the server as well. */
const toolNames = { tenon: 'bench_echo', 'tenon-audit': 'bench_echo' }

export const gatewayGroups = [
  overHttp('gateway-http', 'sessions', 'each with a session, 2025-11-25'),
  overHttp('gateway-http-2026', '2026', '2026-07-28'),
  overStdio('gateway-stdio', 'sessions', ['direct', 'tenon', 'mcp-proxy', 'supergateway'], 'one session, 2025-11-25'),
  // On 2026-07-28, supergateway starts a process for every call: less than one call per second with 32 connections.
  overStdio('gateway-stdio-2026', '2026', ['direct', 'tenon', 'mcp-proxy'], '2026-07-28'),
]

/** The other gateways have no servers over HTTP behind them. */
function overHttp(name, mode, title) {
  return {
    contestants: ['direct', 'tenon', 'tenon-audit'],
    block: 'gateway',
    baseline: 'direct',
    rival: 'mcp-proxy',
    labels,
    start: (contestant) => (contestant === 'direct' ? openDirect(mode) : openWithUpstream(contestant, mode)),
    cases: [
      {
        name,
        title: `\`tools/call\` through a gateway to an HTTP server, ${connections} connections, ${title}`,
        target: { atLeast: 0.4, ...cpuTarget },
        ...load(connections),
      },
      {
        name: `${name}-1`,
        title: `the same, 1 connection`,
        target: cpuTarget,
        ...load(1),
      },
    ],
  }
}

/** All connections are one caller, so every gateway has exactly one process behind it. */
function overStdio(name, mode, contestants, title) {
  return {
    contestants,
    block: 'gateway',
    baseline: 'direct',
    rival: 'mcp-proxy',
    labels,
    start: (contestant) =>
      contestant === 'direct'
        ? openDirect(mode)
        : openSubject(
            contestant,
            HttpServer.open(contestant, mode, { folder: 'gateway', connections, oneSession: true }),
          ),
    cases: [
      {
        name,
        title: `\`tools/call\` over HTTP through a gateway to a stdio server, ${connections} connections, ${title}`,
        target: cpuTarget,
        ...load(connections),
      },
    ],
  }
}

function openDirect(mode) {
  return openSubject('direct', HttpServer.open('tenon', mode, { connections }))
}

async function openWithUpstream(contestant, mode) {
  const upstream = await HttpServer.open('tenon', 'sessions', { connections: 0 })
  const env = { BENCH_UPSTREAM: upstream.url, BENCH_AUDIT: contestant === 'tenon-audit' ? '1' : '0' }
  try {
    const subject = await openSubject(
      contestant,
      HttpServer.open('tenon', mode, { folder: 'gateway', connections, env }),
    )
    return {
      ...subject,
      async close() {
        await subject.close()
        await upstream.close()
      },
    }
  } catch (error) {
    await upstream.close()
    throw error
  }
}

async function openSubject(contestant, opening) {
  const server = await opening
  const text = payload(20)
  server.prepare({ method: 'tools/call', params: { name: toolNames[contestant] ?? 'echo', arguments: { text } } })
  return { child: server.child, connections: server.connections, close: () => server.close() }
}

/** A gateway under load from some of its connections. Every response of a slice is checked. */
function load(inFlight) {
  const check = (result, number) => echoes(result, payload(20, number))
  const pump = ({ child, connections }, options) =>
    pumpHttp({ child, connections: connections.slice(0, inFlight) }, { ...options, check })
  return {
    unit: 'calls/s',
    // The path through a gateway is long: its code is compiled after 20,000 calls.
    warmUp: (subject, { warmUpSeconds }) => pump(subject, { count: 30_000, seconds: warmUpSeconds * 4 }),
    slice: (subject, { sliceSeconds }) => pump(subject, { seconds: sliceSeconds * 2, sampleEvery: 1 }),
    figure: (samples) => rate(samples),
  }
}
