import { isObject, type JsonObject } from 'tenon/internal'
import { toStableJson } from '../../contract/json.ts'
import { fail, type Outcome, pass, skip } from '../check.ts'
import type { AttackCheck, AttackContext } from './attack-check.ts'
import { describeReply, isRefusal, type Reply } from './raw-peer.ts'

/** Sends messages that no client would send. Whether the server still answers afterwards is checked after every check. */
export const messageChecks: readonly AttackCheck[] = [
  { name: 'malformed-json', run: malformedJson },
  { name: 'not-a-request', run: notARequest },
  { name: 'unknown-method', run: unknownMethod },
  { name: 'deep-json', run: deepJson },
  { name: 'oversized-message', run: oversizedMessage },
  { name: 'duplicate-ids', run: duplicateIds },
  { name: 'strange-ids', run: strangeIds },
  { name: 'prototype-names', run: prototypeNames },
  { name: 'prototype-pollution', run: prototypePollution },
  { name: 'error-details', run: errorDetails },
  { name: 'unknown-cancellation', run: unknownCancellation },
]

/** An answer is not required on stdio: some servers only log what they cannot read. */
const shortMs = 2_000

async function malformedJson({ peer, http }: AttackContext): Promise<Outcome> {
  const reply = await peer.exchange('{"jsonrpc":"2.0","id":1,"method":', null, shortMs)
  if (http && (reply.status === undefined || reply.status < 400 || reply.status >= 500))
    return fail(`Invalid JSON got ${describeReply(reply)}. A status from 400 to 499 was expected.`)
  return pass(`Invalid JSON got ${describeReply(reply)}.`)
}

async function notARequest({ peer, http }: AttackContext): Promise<Outcome> {
  const bodies = ['[]', '"text"', '42', 'null', '{}', '{"jsonrpc":"1.0","id":1,"method":"ping"}']
  for (const body of bodies) {
    const reply = await peer.exchange(body, null, http ? undefined : shortMs / bodies.length)
    if (isObject(reply.message) && reply.message.result !== undefined) return fail(`${body} got a result.`)
    if (reply.status !== undefined && reply.status >= 500) return fail(`${body} got HTTP ${reply.status}.`)
  }
  return pass('Messages that are not requests were not answered with results.')
}

async function unknownMethod({ peer }: AttackContext): Promise<Outcome> {
  const reply = await peer.request('tenon/no-such-method', {})
  if (isRefusal(reply)) return pass(`An unknown method got ${describeReply(reply)}.`)
  return fail(`An unknown method got ${describeReply(reply)}. An error was expected.`)
}

async function deepJson({ peer, timeoutMs }: AttackContext): Promise<Outcome> {
  const depth = 100_000
  const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
  const body = `{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"_meta":{"deep":${deep}}}}`
  const reply = await peer.exchange(body, 'deep', Math.min(timeoutMs, 5_000))
  if (reply.status !== undefined && reply.status >= 500)
    return fail(`JSON with ${depth} levels got HTTP ${reply.status}.`)
  return pass(`JSON with ${depth} levels got ${describeReply(reply)}.`)
}

const mebibyte = 1_048_576
const largeMebibytes = 64

/** On stdio the client is the user, so only the survival of the server counts. */
async function oversizedMessage({ peer, http, timeoutMs }: AttackContext): Promise<Outcome> {
  const size = http ? largeMebibytes : 8
  const filler = 'x'.repeat(size * mebibyte)
  const body = `{"jsonrpc":"2.0","id":"large","method":"ping","params":{"_meta":{"filler":"${filler}"}}}`
  const reply = await peer.exchange(body, 'large', timeoutMs * 3)
  const isAccepted = isObject(reply.message) && reply.message.result !== undefined
  if (http && isAccepted) return fail(`A message of ${size} MiB was accepted. Limit the size of requests.`)
  return pass(`A message of ${size} MiB got ${describeReply(reply)}.`)
}

async function duplicateIds({ peer }: AttackContext): Promise<Outcome> {
  const id = 'same'
  const text = JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })
  const replies = await Promise.all([peer.exchange(text, id), peer.exchange(text, id)])
  const answers = replies.map(describeReply).join(' and ')
  const count = peer.countResponses?.(id) ?? 0
  return count > 2 ? fail(`Two requests with one id got ${count} responses.`) : pass(`They got ${answers}.`)
}

async function strangeIds({ peer, http }: AttackContext): Promise<Outcome> {
  const ids = ['null', '{}', '[]', 'true', '1.5', '-1', '1e300', JSON.stringify('x'.repeat(10_000)), '"__proto__"']
  for (const id of ids) {
    const reply = await peer.exchange(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`, null, http ? undefined : 200)
    if (reply.status !== undefined && reply.status >= 500)
      return fail(`The id ${id.slice(0, 40)} got HTTP ${reply.status}.`)
  }
  return pass('Invalid and unusual ids did no harm.')
}

const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']

/** A server that looks names up in a plain object finds members that every object has. */
async function prototypeNames(context: AttackContext): Promise<Outcome> {
  const { tools, prompts, resources } = context.capabilities
  const offered = new Set([...context.contract.tools, ...context.contract.prompts].map(({ name }) => name))
  const requests = names
    .filter((name) => !offered.has(name))
    .flatMap((name) => [
      ...(tools ? [['tools/call', { name, arguments: {} }] as const] : []),
      ...(prompts ? [['prompts/get', { name }] as const] : []),
      ...(resources ? [['resources/read', { uri: name }] as const] : []),
    ])
  if (requests.length === 0) return skip('The server has no tools, prompts or resources.')
  for (const [method, params] of requests) {
    const reply = await context.peer.request(method, params)
    if (reply.missing === 'timeout') return fail(`${method} with ${show(params)} was not answered.`)
    if (isSuccess(reply)) return fail(`${method} with ${show(params)} got a result.`)
    if (/is not a function|cannot read propert/i.test(JSON.stringify(reply.message ?? '')))
      return fail(`${method} with ${show(params)} found a member of every object: ${show(reply.message)}`)
  }
  return pass(`${requests.length} requests with names such as __proto__ got errors.`)
}

async function prototypePollution({ peer, capabilities, contract }: AttackContext): Promise<Outcome> {
  const polluted = '"__proto__":{"tenonPolluted":true},"constructor":{"prototype":{"tenonPolluted":true}}'
  const tool = JSON.stringify(contract.tools[0]?.name ?? 'none')
  const before = await listTools(peer, capabilities.tools)
  // The tool is asked for, but with a method that does not exist, so that nothing runs.
  await peer.exchange(`{"jsonrpc":"2.0","id":"p1","method":"tools/none","params":{"name":${tool},${polluted}}}`, 'p1')
  await peer.exchange(`{"jsonrpc":"2.0","id":"p2","method":"ping",${polluted},"params":{${polluted}}}`, 'p2')
  const after = await listTools(peer, capabilities.tools)
  if (after.includes('tenonPolluted')) return fail('A member that was sent as __proto__ appears in other objects.')
  return before === after
    ? pass('Nothing that was sent appears elsewhere.')
    : skip('The list of tools changed meanwhile.')
}

async function listTools(peer: AttackContext['peer'], hasTools: unknown): Promise<string> {
  return hasTools ? toStableJson((await peer.request('tools/list')).message?.result) : ''
}

/** Stack traces and paths tell an attacker about the machine. */
async function errorDetails({ peer, capabilities }: AttackContext): Promise<Outcome> {
  const requests: readonly (readonly [string, JsonObject])[] = [
    ['tools/call', { name: 'no-such-tool', arguments: {} }],
    ['tools/call', { name: 42 }],
    ['resources/read', { uri: 'no-such-scheme://x' }],
    ['resources/read', { uri: {} }],
    ['prompts/get', { name: [] }],
  ]
  for (const [method, params] of requests.filter(([method]) => Object.hasOwn(capabilities, method.split('/')[0]!))) {
    const text = JSON.stringify((await peer.request(method, params)).message ?? '')
    if (/\\n\s+at .+:\d+:\d+|Traceback \(most recent call last\)|File \\".+\.py\\"/.test(text))
      return fail(`The answer to ${method} with ${show(params)} contains a stack trace.`)
  }
  return pass('Errors have no stack traces.')
}

async function unknownCancellation({ peer }: AttackContext): Promise<Outcome> {
  for (const requestId of ['none', 999_999, null, {}, '__proto__'])
    await peer.notify('notifications/cancelled', { requestId, reason: 'x'.repeat(10_000) })
  return pass('Cancelling requests that do not exist did no harm.')
}

function isSuccess({ message }: Reply): boolean {
  const { result } = message ?? {}
  return isObject(result) && result.isError !== true
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}
