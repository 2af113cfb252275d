import { randomUUID } from 'node:crypto'
import { answer } from '../bare-answers.js'
import { mode, readBody, stand } from './stand.js'

// The baseline: the minimum that an HTTP server can do. One parse and one stringify per message, no checks; a session
// is an entry in a map.

const sessions = new Map()

await stand((request, response) => {
  if (request.method === 'POST') readBody(request, (message) => reply(message, request, response))
  else if (request.method === 'GET' && mode === 'sessions') openStream(request, response)
  else response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
})

function reply(message, request, response) {
  const headers = { 'Content-Type': 'application/json' }
  if (mode === 'sessions') {
    if (message.method === 'initialize') headers['Mcp-Session-Id'] = openSession()
    else if (!sessions.has(request.headers['mcp-session-id'])) return response.writeHead(404).end()
  }
  if (message.id === undefined) return response.writeHead(202).end()
  const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answer(message) })
  headers['Content-Length'] = Buffer.byteLength(text)
  response.writeHead(200, headers).end(text)
}

function openSession() {
  const id = randomUUID()
  sessions.set(id, { stream: undefined })
  return id
}

function openStream(request, response) {
  sessions.get(request.headers['mcp-session-id']).stream = response
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' }).flushHeaders()
}
