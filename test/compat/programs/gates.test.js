// Whatever a program keeps out on the official SDK, 1.x or 2.x, it keeps out on the drop-in packages. Each program of
// `gate-programs.js` and `gate-programs-v2.js` runs on both, and gets the same requests of every revision over real sockets.
// The table is printed at the end.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gateNames, gateNamesOfV2, stdioPrograms } from './gate-names.js'
import {
  handshakeRequests,
  handshakeRevisions,
  judge,
  openSession,
  statelessRequests,
  verdictOf,
  verdictOverSse,
} from './gate-requests.js'
import { RawClient } from './raw-client.js'

const pathsOf = (file) => ({
  official: fileURLToPath(new URL(file, import.meta.url)),
  ours: fileURLToPath(new URL(`aliased/${file}`, import.meta.url)),
})
const files = pathsOf('gate-programs.js')
const filesOfV2 = pathsOf('gate-programs-v2.js')

/** Programs without sessions and without an `initialize` handler, which answer 2026-07-28 by themselves. */
const open = {
  'no gate, a server for each request': () => true,
  'middleware by body, a server for each request': isAuthorized,
  // The program itself lets the notification through.
  'onmessage wrapper, a server for each request': (request) =>
    isAuthorized(request) || request.body?.method === 'notifications/initialized',
  'auth router, a server for each request': isAuthorized,
  'session map, with a branch for 2026-07-28 behind a token': isAuthorized,
}

function isAuthorized({ headers }) {
  return headers.authorization !== undefined
}

const afterSession = 'after a session: '
const table = []

describe('programs that keep callers out', () => {
  const running = {}
  before(async () => {
    for (const sdk of ['official', 'ours']) running[sdk] = await startBoth(files[sdk], filesOfV2[sdk])
  })
  after(() => {
    for (const child of Object.values(running).flatMap(({ children }) => children)) child.kill('SIGKILL')
    console.log(format(table))
  })

  it('covers every program', () => {
    assert.deepEqual(running.ours.names, [...gateNames, ...gateNamesOfV2])
  })

  for (const gate of [...gateNames, ...gateNamesOfV2]) {
    it(`${gate}: answers nothing of 2026-07-28 that the official SDK refuses`, async () => {
      const [official, ours] = await onBoth(running, (sdk) => statelessVerdicts(sdk, gate))
      table.push({ gate, revision: '2026-07-28', official, ours })
      const opened = Object.keys(ours).filter((name) => {
        const request = statelessRequests[name.replace(afterSession, '')]
        return !isRefused(ours[name]) && isRefused(official[name]) && !open[gate]?.(request)
      })
      assert.deepEqual(opened, [])
      if (open[gate]) assert.ok(ours['tools/call, authorized'].hasSecret)
    })

    for (const revision of handshakeRevisions) {
      it(`${gate}: the same verdicts on ${revision} as on the official SDK`, async () => {
        const [official, ours] = await onBoth(running, (sdk) => verdictsOf(sdk, gate, handshakeRequests(revision)))
        table.push({ gate, revision, official, ours })
        assert.deepEqual(ours, official)
      })
    }
  }

  for (const name of stdioPrograms) {
    it(`${name}: answers 2026-07-28 only if the program does not answer initialize itself`, async () => {
      const [official, ours] = await onBoth(files, (file) => overStdio(file, name))
      table.push({ gate: name, revision: '2026-07-28', official, ours })
      const opened = Object.keys(ours).filter((each) => !isRefused(ours[each]) && isRefused(official[each]))
      assert.deepEqual(opened, name === 'stdio' ? ['server/discover', 'subscriptions/listen'] : [])
    })
  }
})

/** Starts the programs for 1.x and 2.x. Each process counts the calls of its own handlers. */
async function startBoth(...both) {
  const [v1, v2] = await Promise.all(both.map(start))
  const children = [v1.child, v2.child]
  const names = [...Object.keys(v1.urls), ...Object.keys(v2.urls)]
  return { children, names, programOf: (gate) => (gate in v1.urls ? v1 : v2) }
}

async function start(file) {
  const child = spawn(process.execPath, [file, 'http'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return { ...JSON.parse(line), child }
}

async function onBoth(both, run) {
  return [await run(both.official), await run(both.ours)]
}

/** Sends the requests before and after a client has opened a session. */
async function statelessVerdicts(sdk, gate) {
  const alone = Object.entries(statelessRequests).filter(([, { inSession }]) => !inSession)
  const first = await verdictsOf(sdk, gate, Object.fromEntries(alone), false)
  const again = await verdictsOf(sdk, gate, statelessRequests)
  const named = Object.entries(again).map(([name, verdict]) => [`${afterSession}${name}`, verdict])
  return { ...first, ...Object.fromEntries(named) }
}

async function verdictsOf(sdk, gate, requests, opensSession = true) {
  const { urls, control } = sdk.programOf(gate)
  const isSse = gate.includes('HTTP+SSE')
  const sessionId = opensSession && !isSse ? await openSession(urls[gate]) : undefined
  const verdicts = {}
  for (const [name, request] of Object.entries(requests)) {
    if (isSse && request.method) continue
    await fetch(control)
    const verdict = await (isSse ? verdictOverSse(urls[gate], request) : verdictOf(urls[gate], request, sessionId))
    verdicts[name] = { ...verdict, reached: Number(await (await fetch(control)).text()) }
  }
  return verdicts
}

/** One process gets the requests one after the other. */
async function overStdio(file, name) {
  const verdicts = {}
  const client = new RawClient([file, name], process.env)
  for (const request of ['tools/call', 'tools/list', 'server/discover', 'subscriptions/listen']) {
    const answer = client.request(statelessRequests[request].body).then((message) => judge(JSON.stringify(message)))
    // A subscription has no response while it is open.
    const heard = client.notified('notifications/subscriptions/acknowledged').then(() => ({ hasResult: true }))
    verdicts[request] = { status: 200, hasSecret: false, ...(await Promise.race([answer, heard])), reached: 0 }
  }
  await client.close()
  return verdicts
}

/** Whether nothing of a request was accepted: no handler ran, and the answer has no result. */
function isRefused({ status, hasResult, hasSecret, reached }) {
  return status !== 202 && !hasResult && !hasSecret && reached === 0
}

/** The requests of each gate by their verdicts. Revisions with the same verdicts share their rows. */
function format(rows) {
  const lines = new Map()
  for (const { gate, revision, official, ours } of rows) {
    const groups = new Map()
    for (const request of Object.keys(official)) {
      const verdicts = `official ${cell(official[request])}, ours ${cell(ours[request])}`
      groups.set(verdicts, [...(groups.get(verdicts) ?? []), request])
    }
    for (const [verdicts, requests] of groups) {
      const key = JSON.stringify([gate, verdicts, requests])
      lines.set(key, { gate, verdicts, requests, revisions: [...(lines.get(key)?.revisions ?? []), revision] })
    }
  }
  return [...lines.values()]
    .map((line) => `${line.gate} | ${line.revisions.join(' ')} | ${line.verdicts} | ${line.requests.join('; ')}`)
    .join('\n')
}

function cell(verdict) {
  if (isRefused(verdict)) return `refuses (${verdict.status})`
  return verdict.status === 202 ? 'accepts' : 'answers'
}
