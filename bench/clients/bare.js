import { spawn } from 'node:child_process'
import { handshake, initialize, initialized, request } from '../messages.js'
import { bareServer, drive, revision } from './drive.js'

// The baseline: the minimum that a client with promises can do. One stringify and one parse per call, no checks. Each
// call is written immediately. Collecting the calls of a tick saves nothing here: client and server then alternate
// instead of working in parallel, and throughput drops (bare-one-write.js measures that).

const oneWrite = process.env.BENCH_ONE_WRITE === '1'
const { _meta } = request(revision, 'tools/call', {}).params
const server = spawn(bareServer.command, bareServer.args, { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
let nextId = 1
let outgoing = ''
let tail = ''

server.stdout.setEncoding('utf8').on('data', (chunk) => {
  const text = tail + chunk
  let from = 0
  for (let end = text.indexOf('\n'); end !== -1; from = end + 1, end = text.indexOf('\n', from)) {
    const { id, result } = JSON.parse(text.slice(from, end))
    const resolve = waiting.get(id)
    waiting.delete(id)
    resolve(result)
  }
  tail = text.slice(from)
})

function send(message) {
  const line = `${JSON.stringify(message)}\n`
  if (!oneWrite) server.stdin.write(line)
  else {
    if (outgoing === '') queueMicrotask(flush)
    outgoing += line
  }
}

function flush() {
  server.stdin.write(outgoing)
  outgoing = ''
}

function call(method, params) {
  return new Promise((resolve) => {
    const id = nextId++
    waiting.set(id, resolve)
    send({ jsonrpc: '2.0', id, method, params })
  })
}

if (revision === handshake) {
  await call('initialize', initialize.params)
  send(initialized)
}
await drive((text) => call('tools/call', { name: 'echo', arguments: { text }, _meta }))
server.stdin.end()
