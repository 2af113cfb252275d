import type { Params, Prompt, Resource, ResourceTemplateInfo, Tool } from 'tenon'
import type { Client } from 'tenon/client'
import { isObject, type JsonObject } from 'tenon/internal'

/** What a server offers to clients, and so what its clients depend on. */
export interface Contract {
  readonly server: { readonly name: string; readonly version: string } | null
  /** The protocol revision in which it was read. */
  readonly revision: string
  readonly instructions: string | null
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly resourceTemplates: readonly ResourceTemplateInfo[]
  readonly resources: readonly Resource[]
}

/** A definition that no client can use, and why. */
export interface Malformed {
  /** Such as `tool add` or `tools[3]`. */
  readonly where: string
  readonly reason: string
}

/** A contract, and the definitions that had to be left out. */
export interface ReadContract {
  readonly contract: Contract
  readonly malformed: readonly Malformed[]
}

/** Reads everything that a server offers. Definitions that no client can use are listed in `malformed`. */
export async function readContract(client: Client): Promise<ReadContract> {
  const { info, capabilities, instructions, revision } = client.server
  const malformed: Malformed[] = []
  const { tools, prompts, resources } = capabilities
  const contract: Contract = {
    server: info ? { name: String(info.name), version: String(info.version) } : null,
    revision,
    instructions: typeof instructions === 'string' ? instructions : null,
    tools: tools ? await readList(client, lists.tools, malformed) : [],
    prompts: prompts ? await readList(client, lists.prompts, malformed) : [],
    resourceTemplates: resources ? await readList(client, lists.resourceTemplates, malformed) : [],
    resources: resources ? await readList(client, lists.resources, malformed) : [],
  }
  return { contract, malformed }
}

/** Reads a contract that was written to a file. */
export function checkDefinitions(value: JsonObject): ReadContract {
  const { server, revision, instructions } = value
  const malformed: Malformed[] = []
  const read = <T>(kind: ListKind<T>): T[] => {
    const list = value[kind.member] ?? []
    if (Array.isArray(list)) return sortOut(list, kind, malformed)
    malformed.push({ where: kind.member, reason: 'it is not a list' })
    return []
  }
  const contract: Contract = {
    server: isObject(server) ? { name: String(server.name), version: String(server.version) } : null,
    revision: typeof revision === 'string' ? revision : '',
    instructions: typeof instructions === 'string' ? instructions : null,
    tools: read(lists.tools),
    prompts: read(lists.prompts),
    resourceTemplates: read(lists.resourceTemplates),
    resources: read(lists.resources),
  }
  return { contract, malformed }
}

interface ListKind<T> {
  readonly method: string
  readonly member: string
  readonly noun: string
  readonly key: string
  problemOf(item: JsonObject): string | undefined
  /** Never called; gives the type of the items. */
  readonly type?: T
}

const lists = {
  tools: { method: 'tools/list', member: 'tools', noun: 'tool', key: 'name', problemOf: toolProblem } as ListKind<Tool>,
  prompts: {
    method: 'prompts/list',
    member: 'prompts',
    noun: 'prompt',
    key: 'name',
    problemOf: promptProblem,
  } as ListKind<Prompt>,
  resourceTemplates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    noun: 'resource template',
    key: 'uriTemplate',
    problemOf: describedProblem,
  } as ListKind<ResourceTemplateInfo>,
  resources: {
    method: 'resources/list',
    member: 'resources',
    noun: 'resource',
    key: 'uri',
    problemOf: describedProblem,
  } as ListKind<Resource>,
}

/** A server could send pages for ever. */
const maxItems = 100_000

/** `client.listTools` leaves out what is malformed, so the request is sent as it is. */
async function readList<T>(client: Client, kind: ListKind<T>, malformed: Malformed[]): Promise<T[]> {
  const items: T[] = []
  const seen = new Set<string>()
  let count = 0
  let params: Params | undefined
  do {
    const page: JsonObject = await request(client, kind.method, params)
    const list = page[kind.member]
    if (!Array.isArray(list)) {
      malformed.push({ where: kind.method, reason: `the result has no list "${kind.member}"` })
      return items
    }
    items.push(...sortOut(list, kind, malformed, count))
    count += list.length
    params = nextPage(page, seen, kind, malformed)
  } while (params !== undefined && count < maxItems)
  return items
}

/** Returns the valid definitions, and adds the others to `malformed`. */
function sortOut<T>(list: readonly T[], kind: ListKind<T>, malformed: Malformed[], start = 0): T[] {
  return list.filter((item, index) => {
    const reason = problemOf(item, kind)
    if (reason !== undefined) malformed.push({ where: nameOf(item, kind, start + index), reason })
    return reason === undefined
  })
}

/** Some servers announce resources but do not implement every list. That is the same as an empty list. */
async function request(client: Client, method: string, params: Params | undefined): Promise<JsonObject> {
  try {
    return await client.request(method, params)
  } catch (error) {
    if (method === 'resources/templates/list' && isObject(error) && error.rpcCode === methodNotFound)
      return { resourceTemplates: [] }
    throw error
  }
}

const methodNotFound = -32_601

function nextPage(
  { nextCursor }: JsonObject,
  seen: Set<string>,
  { method }: ListKind<unknown>,
  malformed: Malformed[],
): Params | undefined {
  if (typeof nextCursor !== 'string') return undefined
  if (seen.has(nextCursor)) {
    malformed.push({ where: method, reason: 'it returns the same cursor again, so the list never ends' })
    return undefined
  }
  seen.add(nextCursor)
  return { cursor: nextCursor }
}

function nameOf(item: unknown, { member, noun, key }: ListKind<unknown>, index: number): string {
  const name = isObject(item) ? item[key] : undefined
  return typeof name === 'string' && name !== '' ? `${noun} ${name}` : `${member}[${index}]`
}

function problemOf(item: unknown, { key, problemOf }: ListKind<unknown>): string | undefined {
  if (!isObject(item)) return 'it is not an object'
  if (typeof item[key] !== 'string' || item[key] === '') return `it has no ${key}`
  return problemOf(item)
}

function describedProblem({ description, title }: JsonObject): string | undefined {
  if (description !== undefined && typeof description !== 'string') return 'its description is not a string'
  return title === undefined || typeof title === 'string' ? undefined : 'its title is not a string'
}

function toolProblem(tool: JsonObject): string | undefined {
  if (!isObject(tool.inputSchema)) return 'its inputSchema is missing or not an object'
  if (tool.outputSchema !== undefined && !isObject(tool.outputSchema)) return 'its outputSchema is not an object'
  if (tool.annotations !== undefined && !isObject(tool.annotations)) return 'its annotations are not an object'
  return describedProblem(tool)
}

function promptProblem(prompt: JsonObject): string | undefined {
  const { arguments: args = [] } = prompt
  const isList = Array.isArray(args) && args.every((arg) => isObject(arg) && typeof arg.name === 'string')
  return isList ? describedProblem(prompt) : 'its arguments are not a list of objects with a name'
}
