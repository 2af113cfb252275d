import { Agent, request as send } from 'node:http'
import { handshake, initialize, initialized, request } from '../../messages.js'
import { drive, revision, url } from '../drive.js'

// The baseline: the minimum that a client with promises can do. One stringify and one parse per call, no checks.

const { _meta } = request(revision, 'tools/call', {}).params
const { hostname, port, pathname } = new URL(url)
const agent = new Agent({ keepAlive: true })
const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
let nextId = 1

function post(message) {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify(message)
    const options = {
      method: 'POST',
      agent,
      hostname,
      port,
      path: pathname,
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
    }
    send(options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ response, text }))
    })
      .on('error', reject)
      .end(body)
  })
}

async function call(method, params) {
  const { text } = await post({ jsonrpc: '2.0', id: nextId++, method, params })
  return JSON.parse(text).result
}

if (revision === handshake) {
  const { response } = await post(initialize)
  headers['Mcp-Session-Id'] = response.headers['mcp-session-id']
  headers['MCP-Protocol-Version'] = revision
  await post(initialized)
} else {
  Object.assign(headers, { 'MCP-Protocol-Version': revision, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'echo' })
}
await drive((text) => call('tools/call', { name: 'echo', arguments: { text }, _meta }))
agent.destroy()
