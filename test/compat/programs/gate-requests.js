// The requests that are sent to every gated program, and how each is answered.

export const handshakeRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const stateless = '2026-07-28'

const meta = {
  'io.modelcontextprotocol/protocolVersion': stateless,
  'io.modelcontextprotocol/clientInfo': { name: 'probe', version: 'licensed' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const call = (id, _meta) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'secret', ...(_meta && { _meta }) },
})
const list = (_meta) => ({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: _meta ? { _meta } : {} })
const initialize = (protocolVersion, version = 'licensed', _meta = undefined) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'probe', version }, ...(_meta && { _meta }) },
})
const listen = {
  jsonrpc: '2.0',
  id: 1,
  method: 'subscriptions/listen',
  params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['note://one'] }, _meta: meta },
}
const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } }
const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9, _meta: meta } }
const named = { 'mcp-method': 'tools/call', 'mcp-name': 'secret' }
const at = (version, more = {}) => ({ 'mcp-protocol-version': version, ...more })
const foreign = { 'mcp-session-id': '00000000-0000-4000-8000-000000000000' }
const good = { authorization: 'Bearer good' }

/** Requests of 2026-07-28. `inSession` sends the id of a session that another client opened. */
export const statelessRequests = {
  'tools/call': { body: call(1, meta), headers: at(stateless, named) },
  'tools/call, authorized': { body: call(1, meta), headers: at(stateless, { ...named, ...good }) },
  'tools/list': { body: list(meta), headers: at(stateless, { 'mcp-method': 'tools/list' }) },
  'tools/call, foreign session': { body: call(1, meta), headers: at(stateless, { ...named, ...foreign }) },
  'tools/call, session of another': { body: call(1, meta), headers: at(stateless, named), inSession: true },
  'server/discover': { body: discover, headers: at(stateless, { 'mcp-method': 'server/discover' }) },
  'subscriptions/listen': { body: listen, headers: at(stateless, { 'mcp-method': 'subscriptions/listen' }) },
  'subscriptions/listen, session of another': {
    body: listen,
    headers: at(stateless, { 'mcp-method': 'subscriptions/listen' }),
    inSession: true,
  },
  'batch of one': { body: [call(1, meta)], headers: at(stateless, named) },
  'batch of two': { body: [call(1, meta), call(2, meta)], headers: at(stateless, named) },
  'batch with initialize': { body: [initialize('2025-11-25'), call(2, meta)], headers: at(stateless, named) },
  notification: { body: cancelled, headers: at(stateless, { 'mcp-method': 'notifications/cancelled' }) },
  'notification of the handshake': {
    body: { jsonrpc: '2.0', method: 'notifications/initialized', params: { _meta: meta } },
    headers: at(stateless),
  },
  'version in the header only': { body: call(1), headers: at(stateless) },
  'version in the body only': { body: call(1, meta), headers: {} },
  'another version in the header': { body: call(1, meta), headers: at('2025-11-25', named) },
  'initialize with the envelope': { body: initialize(stateless, 'licensed', meta), headers: at(stateless) },
  'initialize without a licence': { body: initialize(stateless, 'none', meta), headers: at(stateless) },
  'tools/call that looks like initialize': {
    body: { ...call(1, meta), params: { ...initialize(stateless).params, name: 'secret', _meta: meta } },
    headers: at(stateless, named),
  },
  GET: { method: 'GET', headers: at(stateless) },
  DELETE: { method: 'DELETE', headers: at(stateless, foreign) },
}

/** Requests of one revision with a handshake. */
export const handshakeRequests = (revision) => ({
  initialize: { body: initialize(revision), headers: {} },
  'initialize without a licence': { body: initialize(revision, 'none'), headers: {} },
  'tools/call without a session': { body: call(1), headers: at(revision) },
  'tools/call without a version': { body: call(1), headers: {} },
  'tools/call, authorized': { body: call(1), headers: at(revision, good) },
  'tools/call, foreign session': { body: call(1), headers: at(revision, foreign) },
  'tools/call in the session': { body: call(1), headers: at(revision), inSession: true },
  'tools/call in the session, authorized': { body: call(1), headers: at(revision, good), inSession: true },
  'tools/list in the session': { body: list(), headers: at(revision), inSession: true },
  'batch of two in the session': { body: [call(1), call(2)], headers: at(revision, good), inSession: true },
  'notification in the session': {
    body: { jsonrpc: '2.0', method: 'notifications/initialized' },
    headers: at(revision, good),
    inSession: true,
  },
  'unknown method': {
    body: { jsonrpc: '2.0', id: 1, method: 'server/discover' },
    headers: at(revision, good),
    inSession: true,
  },
})

/** Opens a session, as another client would. Returns its id; undefined if the program has none. */
export async function openSession(url) {
  const response = await post(url, { body: initialize('2025-11-25'), headers: good })
  const sessionId = response.headers.get('mcp-session-id') ?? undefined
  await response.text()
  return sessionId
}

/** Sends a request, and returns the status and what the messages of the response say. */
export async function verdictOf(url, request, sessionId) {
  const ended = new AbortController()
  const headers = request.inSession && sessionId ? { 'mcp-session-id': sessionId } : {}
  const response = await post(url, { ...request, headers: { ...request.headers, ...headers } }, ended.signal)
  const text = await readAnswer(response)
  ended.abort()
  return { status: response.status, ...judge(text) }
}

/** Does the same over HTTP+SSE, with a stream for each request. */
export async function verdictOverSse(url, { body, headers }) {
  const ended = new AbortController()
  const stream = await fetch(url, { headers: { accept: 'text/event-stream' }, signal: ended.signal })
  const chunks = stream.body.pipeThrough(new TextDecoderStream()).getReader()
  const endpoint = /data: (\S+)/.exec((await chunks.read()).value)[1]
  const response = await post(new URL(endpoint, url), { body, headers })
  await response.text()
  let text = ''
  const isAnswered = () => /"(?:result|error)":/.test(text) || text.includes('subscriptions/acknowledged')
  if (response.status === 202 && body.id !== undefined) while (!isAnswered()) text += (await chunks.read()).value
  ended.abort()
  return { status: response.status === 202 && text ? 200 : response.status, ...judge(text) }
}

function post(url, { method = 'POST', body, headers }, signal) {
  return fetch(url, {
    method,
    headers: {
      accept: 'application/json, text/event-stream',
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: signal ? AbortSignal.any([signal, AbortSignal.timeout(30_000)]) : AbortSignal.timeout(30_000),
  })
}

/** Reads a response to its end; a stream that stays open, to its first message. */
async function readAnswer(response) {
  const isStream = response.headers.get('content-type')?.includes('event-stream')
  if (!isStream || response.status >= 400) return response.text()
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of response.body) {
      text += decoder.decode(chunk, { stream: true })
      if (text.includes('subscriptions/acknowledged')) break
    }
  } catch {
    // The program ended the connection.
  }
  return text
}

/** Whether the text of an answer contains results, errors, or what only callers with permission may see. */
export function judge(text) {
  return {
    hasResult: /"result":/.test(text) || text.includes('subscriptions/acknowledged'),
    hasSecret: /secret (?:of|instructions)|"name":"secret"/.test(text),
  }
}
