// A server of 2025-11-25 over stdio that speaks JSON-RPC by hand, so that it can also do what no library lets a server do: ask
// and log after a call has ended. Every run of `work` and `ask` is a line in a file, so that a call that ran twice is detected.
//
//   node stdio-server.fixture.js <file for runs> <scheme of its resources>
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises'

const [, , runs, scheme] = process.argv
const waiting = new Map()
let lastId = 0

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const notify = (method, params) => send({ method, params })
const text = (value) => ({ content: [{ type: 'text', text: value }] })

function ask(message) {
  const id = `ask-${++lastId}`
  const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } } }
  send({ id, method: 'elicitation/create', params: { message, requestedSchema } })
  return new Promise((resolve) => waiting.set(id, resolve))
}

const tools = {
  async work({ id, ms }) {
    await sleep(ms)
    appendFileSync(runs, `${id}\n`)
    return text(`done ${id}`)
  },
  async ask({ id, who }) {
    appendFileSync(runs, `${id}\n`)
    const { result } = await ask(`Confirm the transfer of ${who}`)
    return text(`${who}: ${result?.action}`)
  },
  /** Answers at once, and asks and logs when the call is over. */
  async late({ who }) {
    setTimeout(() => {
      void ask(`Late: confirm the transfer of ${who}`)
      notify('notifications/message', { level: 'error', logger: 'desk', data: `late secret of ${who}` })
    }, 20)
    return text('later')
  },
  async log({ who }) {
    notify('notifications/message', { level: 'error', logger: 'desk', data: `secret of ${who}` })
    return text('logged')
  },
  async update({ uri }) {
    notify('notifications/resources/updated', { uri })
    return text('updated')
  },
  async flood({ count, uris }) {
    for (let sent = 0; sent < count; sent++) {
      notify('notifications/resources/updated', { uri: `${scheme}:doc-${sent % uris}` })
      if (sent % 1_000 === 999) await nextTick()
    }
    return text(`flooded ${count}`)
  },
  async pid() {
    return text(String(process.pid))
  },
}

const inputSchema = { type: 'object', additionalProperties: true }
const methods = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, resources: { subscribe: true }, logging: {} },
    serverInfo: { name: 'chaos', version: '1.0.0' },
  }),
  ping: () => ({}),
  'logging/setLevel': () => ({}),
  'tools/list': () => ({
    tools: Object.keys(tools).map((name) => ({ name, description: `Does ${name}`, inputSchema })),
  }),
  'resources/list': () => ({
    resources: Array.from({ length: 50 }, (_, i) => ({ uri: `${scheme}:doc-${i}`, name: `doc ${i}` })),
  }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'tools/call': ({ name, arguments: args }) => tools[name](args ?? {}),
}

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const message = JSON.parse(line)
    if (!message.method) return waiting.get(message.id)?.(message)
    if (message.id === undefined) return
    const method = methods[message.method]
    if (!method) return send({ id: message.id, error: { code: -32601, message: 'Method not found' } })
    send({ id: message.id, result: await method(message.params ?? {}) })
  })
  .on('close', () => process.exit())
