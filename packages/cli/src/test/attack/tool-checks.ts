import type { Tool } from 'tenon'
import { UriTemplate } from 'tenon/client'
import { isObject, type JsonObject } from 'tenon/internal'
import { objectOf } from '../../contract/json.ts'
import { fail, type Outcome, pass, skip } from '../check.ts'
import type { AttackCheck, AttackContext } from './attack-check.ts'
import { invalidArguments, sampleArguments } from './invalid-arguments.ts'
import type { Reply } from './raw-peer.ts'

/** Calls tools and reads resources with hostile values. */
export const toolChecks: readonly AttackCheck[] = [
  { name: 'invalid-arguments', run: checkArguments },
  { name: 'slow-patterns', run: slowPatterns },
  { name: 'path-traversal-tools', run: traversalInTools },
  { name: 'path-traversal-resources', run: traversalInResources },
  { name: 'cancellation', run: cancellation },
]

const maxCallsPerTool = 6
const maxCalls = 150

/** MCP, server/tools: servers must validate all tool inputs. */
async function checkArguments({ peer, tools, noTools }: AttackContext): Promise<Outcome> {
  const calls = tools
    .flatMap((tool) => invalidArguments(tool, maxCallsPerTool).map((invalid) => ({ ...invalid, name: tool.name })))
    .slice(0, maxCalls)
  if (calls.length === 0) return skip(tools.length === 0 ? noTools : 'No tool has arguments that could be invalid.')
  const accepted: string[] = []
  for (const { name, what, args } of calls) {
    const reply = await peer.request('tools/call', { name, arguments: args })
    if (reply.missing !== undefined && reply.status === undefined) return fail(`${name} with ${what} was not answered.`)
    if (isSuccess(reply)) accepted.push(`${name} (${what})`)
  }
  if (accepted.length === 0) return pass(`${calls.length} calls with invalid arguments were refused.`)
  return fail(
    `${accepted.length} of ${calls.length} calls with invalid arguments succeeded: ${accepted.slice(0, 5).join(', ')}`,
  )
}

/** Texts on which regular expressions with nested repetitions need exponential time. */
const slowTexts = [
  `${'a'.repeat(30_000)}!`,
  `${' '.repeat(30_000)}x`,
  `${'a.'.repeat(15_000)}@`,
  `${'('.repeat(10_000)}`,
  `${'/*'.repeat(10_000)}`,
]

/** A server that computes for long cannot answer others. The call itself may take its time. */
async function slowPatterns({ peer, tools, noTools, timeoutMs }: AttackContext): Promise<Outcome> {
  const targets = tools.flatMap((tool) => stringArguments(tool).map((key) => ({ tool, key }))).slice(0, 20)
  if (targets.length === 0) return skip(tools.length === 0 ? noTools : 'No tool has a string argument.')
  for (const { tool, key } of targets) {
    for (const text of slowTexts) {
      const args = withMember(sampleArguments(tool.inputSchema), key, text)
      const call = peer.request('tools/call', { name: tool.name, arguments: args }, timeoutMs)
      if (!(await peer.isAlive())) return fail(`${tool.name} blocks the server with ${key} = ${text.slice(0, 10)}...`)
      await call
    }
  }
  return pass(`${targets.length * slowTexts.length} calls with long repetitive texts did not block the server.`)
}

const traversals = [
  '../../../../../../../../../../etc/passwd',
  '/etc/passwd',
  'file:///etc/passwd',
  '....//....//....//....//etc/passwd',
  '..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd',
]

async function traversalInTools({ peer, tools, noTools }: AttackContext): Promise<Outcome> {
  const targets = tools
    .flatMap((tool) => stringArguments(tool).map((key) => ({ tool, key })))
    .filter(({ key }) => /path|file|dir|folder|uri|url|name/i.test(key))
    .slice(0, 20)
  if (targets.length === 0)
    return skip(tools.length === 0 ? noTools : 'No tool has an argument that looks like a path.')
  for (const { tool, key } of targets) {
    for (const text of traversals) {
      const args = withMember(sampleArguments(tool.inputSchema), key, text)
      const reply = await peer.request('tools/call', { name: tool.name, arguments: args })
      if (hasPasswords(reply)) return fail(`${tool.name} read /etc/passwd with ${key} = ${text}`)
    }
  }
  return pass(`${targets.length * traversals.length} calls with paths did not read /etc/passwd.`)
}

async function traversalInResources({ peer, capabilities, contract }: AttackContext): Promise<Outcome> {
  if (!capabilities.resources) return skip('The server has no resources.')
  const schemes = new Set(contract.resources.map(({ uri }) => uri.split(':')[0]))
  const uris = [
    'file:///etc/passwd',
    ...[...schemes].flatMap((scheme) => traversals.map((path) => `${scheme}://${path}`)),
    ...contract.resourceTemplates.slice(0, 20).flatMap(({ uriTemplate }) => expandAll(uriTemplate)),
  ]
  for (const uri of uris.slice(0, maxCalls))
    if (hasPasswords(await peer.request('resources/read', { uri }))) return fail(`/etc/passwd was read as ${uri}`)
  return pass(`Requests with paths (${Math.min(uris.length, maxCalls)}) did not read /etc/passwd.`)
}

function expandAll(uriTemplate: string): string[] {
  try {
    const template = new UriTemplate(uriTemplate)
    return traversals.flatMap((path) => [
      template.expand(Object.fromEntries(template.variableNames.map((name) => [name, path]))),
      uriTemplate.replace(/\{[^}]*\}/g, path),
    ])
  } catch {
    return []
  }
}

/** A cancelled call must not be answered twice, and must not end the server. */
async function cancellation({ peer, tools, noTools }: AttackContext): Promise<Outcome> {
  const [tool] = tools
  if (!tool) return skip(noTools)
  const id = 'cancel-me'
  const params = { name: tool.name, arguments: sampleArguments(tool.inputSchema) }
  const call = peer.exchange(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }), id, 2_000)
  await peer.notify('notifications/cancelled', { requestId: id })
  await peer.notify('notifications/cancelled', { requestId: id })
  const { message } = await call
  const count = peer.countResponses?.(id) ?? 0
  if (count > 1) return fail(`A cancelled call got ${count} responses.`)
  return pass(message ? 'The call ended before it was cancelled.' : 'A cancelled call was not answered.')
}

function stringArguments({ inputSchema }: Tool): string[] {
  return Object.entries(objectOf(inputSchema.properties))
    .filter(([, schema]) => objectOf(schema).type === 'string' && objectOf(schema).enum === undefined)
    .map(([key]) => key)
}

function withMember(args: JsonObject, key: string, value: unknown): JsonObject {
  return Object.fromEntries([...Object.entries(args).filter(([name]) => name !== key), [key, value]])
}

function hasPasswords({ message }: Reply): boolean {
  return /root:[^:]*:0:0:/.test(JSON.stringify(message ?? ''))
}

function isSuccess({ message }: Reply): boolean {
  const { result } = message ?? {}
  return isObject(result) && result.isError !== true && result.resultType !== 'input_required'
}
