import { isLoopbackHost, isObject } from 'tenon/internal'
import { fail, type Outcome, pass, skip } from '../check.ts'
import type { AttackCheck, AttackContext } from './attack-check.ts'
import type { HttpPeer, RawResponse } from './http-peer.ts'
import { describeReply } from './raw-peer.ts'

/** Sends requests that web pages and strangers could send. */
export const httpChecks: readonly AttackCheck[] = [
  check('foreign-host', foreignHost),
  check('foreign-origin', foreignOrigin),
  check('cors-preflight', corsPreflight),
  check('simple-content-type', simpleContentType),
  check('wrong-version-header', wrongVersion),
  check('wrong-http-method', wrongMethod),
  check('large-headers', largeHeaders),
  check('session-guessing', sessionGuessing),
  check('session-entropy', sessionEntropy),
]

function check(name: string, run: (http: HttpPeer) => Promise<Outcome>): AttackCheck {
  return {
    name,
    http: true,
    run: async ({ http }: AttackContext) => (http ? run(http) : skip('The server speaks stdio.')),
  }
}

const evil = 'evil.example'

/** DNS rebinding: a web page whose name resolves to this machine sends its own name as Host. */
async function foreignHost(http: HttpPeer): Promise<Outcome> {
  if (!isLoopbackHost(http.url.hostname)) return skip('The server is not on this machine.')
  const reply = await http.ping({ host: `${evil}:${http.url.port || 80}` })
  return isAnswered(reply)
    ? fail(`A request for the host ${evil} was answered. Check the Host header against DNS rebinding.`)
    : pass(`A request for the host ${evil} got ${describeReply(reply)}.`)
}

async function foreignOrigin(http: HttpPeer): Promise<Outcome> {
  for (const origin of [`https://${evil}`, 'null']) {
    const reply = await http.ping({ origin })
    if (isAnswered(reply)) return fail(`A request of the web page ${origin} was answered. Check the Origin header.`)
  }
  return pass('Requests of other web pages were refused.')
}

async function corsPreflight(http: HttpPeer): Promise<Outcome> {
  const { headers } = await http.send({
    method: 'OPTIONS',
    headers: {
      origin: `https://${evil}`,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,mcp-session-id',
      'mcp-session-id': undefined,
    },
  })
  const allowed = headers['access-control-allow-origin']
  if (allowed === undefined || (allowed !== '*' && !allowed.includes(evil)))
    return pass('Other web pages are not allowed.')
  const isOpen = isLoopbackHost(http.url.hostname)
  return isOpen
    ? fail(`Every web page may call this server: Access-Control-Allow-Origin is ${allowed}.`)
    : pass(`Access-Control-Allow-Origin is ${allowed}, and the server is public.`)
}

/** Browsers send these types without asking first. */
async function simpleContentType(http: HttpPeer): Promise<Outcome> {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    const reply = await http.ping({ 'content-type': type })
    if (isAnswered(reply)) return fail(`A request of the type ${type} was answered. Require application/json.`)
  }
  return pass('Only JSON is accepted.')
}

/** 2025-06-18 basic/transports: the server must respond with 400 to an invalid or unsupported version. */
async function wrongVersion(http: HttpPeer): Promise<Outcome> {
  const reply = await http.ping({ 'mcp-protocol-version': '1999-01-01' })
  if (reply.status === 400) return pass('An unknown MCP-Protocol-Version got HTTP 400.')
  return fail(`An unknown MCP-Protocol-Version got ${describeReply(reply)}. HTTP 400 was expected.`)
}

async function wrongMethod(http: HttpPeer): Promise<Outcome> {
  for (const method of ['PUT', 'PATCH']) {
    const { status } = await http.send({ method, body: '{}' })
    if (status === undefined || status < 400 || status >= 500) return fail(`${method} got HTTP ${status ?? 'nothing'}.`)
  }
  return pass('PUT and PATCH were refused.')
}

async function largeHeaders(http: HttpPeer): Promise<Outcome> {
  const reply = await http.ping({ 'x-large': 'x'.repeat(200_000) })
  return isAnswered(reply)
    ? fail('A header of 200,000 characters was accepted.')
    : pass(`A header of 200,000 characters got ${describeReply(reply)}.`)
}

async function sessionGuessing(http: HttpPeer): Promise<Outcome> {
  if (http.sessionId === undefined) return skip('The server has no sessions.')
  const similar = http.sessionId.slice(0, -1) + (http.sessionId.endsWith('0') ? '1' : '0')
  for (const guess of ['1', 'undefined', '__proto__', '../..', '00000000-0000-0000-0000-000000000000', similar]) {
    const reply = await http.ping({ 'mcp-session-id': guess })
    if (isAnswered(reply)) return fail(`A request with the session id ${JSON.stringify(guess)} was answered.`)
    await http.send({ method: 'DELETE', headers: { 'mcp-session-id': guess } })
  }
  const own = await http.ping({})
  return isAnswered(own)
    ? pass('Guessed session ids were refused.')
    : fail('A guessed id ended the session of another client.')
}

const sampleSize = 5
const minIdChars = 16

/** Ids must not be guessable: long enough, all different, and not counted. */
async function sessionEntropy(http: HttpPeer): Promise<Outcome> {
  const ids: string[] = []
  for (let index = 0; index < sampleSize; index++) {
    const id = (await http.openSession()).headers['mcp-session-id']
    if (typeof id !== 'string') return skip('The server has no sessions.')
    ids.push(id)
  }
  await Promise.all(ids.map((id) => http.send({ method: 'DELETE', headers: { 'mcp-session-id': id } })))
  const shortest = Math.min(...ids.map((id) => id.length))
  if (new Set(ids).size < ids.length) return fail('Two sessions have the same id.')
  if (shortest < minIdChars) return fail(`Session ids have only ${shortest} characters.`)
  const isCounted = ids.every((id, index) => index === 0 || commonPrefix(id, ids[index - 1]!) >= id.length - 4)
  return isCounted
    ? fail('Session ids differ only at their end, so the next can be guessed.')
    : pass(`${shortest} characters, all different.`)
}

function commonPrefix(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

function isAnswered({ message }: RawResponse): boolean {
  return isObject(message) && message.result !== undefined
}
