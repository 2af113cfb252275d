import { echoes } from './checks.js'
import { rate } from './figures.js'
import { pumpHttp } from './http-load.js'
import { HttpServer } from './http-server.js'
import { payload } from './load.js'
import { handshake, stateless } from './messages.js'

// The same program on the official packages and on the drop-in packages. The baseline is the official package.

const block = 'compat'
const labels = { 'compat-v1': '@tenon/compat-v1', 'compat-v2': '@tenon/compat-v2' }
const rivals = { v1: 'official-v1', v2: 'official-v2' }

/** @param stdioCalls Creates a group of calls over stdio, as in cases.js. */
export function compatGroups(stdioCalls) {
  return [
    onBoth(
      'v1',
      stdioCalls(handshake, contestants('v1'), [{ name: 'compat-v1-call-64', inFlight: 64, ...goal('v1') }]),
    ),
    onBoth('v2', stdioCalls(handshake, contestants('v2'), [{ name: 'compat-v2-call-64', inFlight: 64 }])),
    onBoth('v2', stdioCalls(stateless, contestants('v2'), [{ name: 'compat-v2-call-64-2026', inFlight: 64 }])),
    overHttp('v1', 'sessions', 'each with a session, 2025-11-25', goal('v1')),
    overHttp('v1', 'stateless', 'a server for every request, 2025-11-25', goal('v1')),
    overHttp('v2', 'sessions', 'each with a session, 2025-11-25'),
    overHttp('v2', '2026', 'a server for every request, 2026-07-28', goal('v2', 2)),
  ]
}

function contestants(line) {
  return [rivals[line], `compat-${line}`]
}

function goal(line, atLeast = 3) {
  return { target: { atLeast, pairs: { [`compat-${line}`]: rivals[line] } } }
}

function onBoth(line, group) {
  return { ...group, block, labels, baseline: rivals[line], rival: rivals[line] }
}

function overHttp(line, mode, title, { target } = {}) {
  const check = (result, number) => echoes(result, payload(20, number))
  const call = { method: 'tools/call', params: { name: 'echo', arguments: { text: payload(20) } } }
  return onBoth(line, {
    contestants: contestants(line),
    start: (contestant) => HttpServer.open(contestant, mode, { connections: 32 }),
    cases: [
      {
        name: `compat-${line}-http-${mode}`,
        title: `\`tools/call\` over HTTP, 32 connections, ${title}`,
        unit: 'calls/s',
        target,
        async warmUp(server, { warmUpSeconds }) {
          server.prepare(call)
          await pumpHttp(server, { count: 100_000, seconds: warmUpSeconds * 2, check })
        },
        slice: (server, { sliceSeconds }) => pumpHttp(server, { seconds: sliceSeconds * 2, check }),
        figure: (samples) => rate(samples),
      },
    ],
  })
}
