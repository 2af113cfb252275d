import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  classify,
  isRequestId,
  type RequestId,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse,
} from '../jsonrpc/message.ts'
import type { RevisionId } from '../protocol/revision.ts'
import { compileJsonSchema, type JsonSchema, type JsonSchemaCheck } from '../schema/json-schema.ts'
import { schemaFor } from '../schemas/schemas.ts'
import { isObject } from '../util/objects.ts'
import type { Line } from './transcript.ts'

/** Requests whose result has no definition of its own in the schemas. */
const emptyResults: ReadonlySet<string> = new Set([
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** Stands for any request that asks for a task and gets one (2025-11-25). */
const asTask = 'as a task'

/**
 * Checks messages against the JSON Schema of one revision: that of `tenon/schemas`, or the official one.
 *
 * @example
 * const schema = OfficialSchema.load('2025-11-25')
 * schema.problem({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} }) // 'CallToolRequest: /params/name is required'
 */
export class OfficialSchema {
  readonly #document: JsonSchema
  readonly #definitions: Record<string, JsonSchema>
  readonly #byMethod = new Map<string, string>()
  readonly #checks = new Map<string, JsonSchemaCheck>()

  /** Uses the schema of `tenon/schemas`. */
  static load(revision: RevisionId): OfficialSchema
  /** Uses the official `<revision>.json` in a folder. Returns undefined if the folder does not have it. */
  static load(folder: string, revision: RevisionId): OfficialSchema | undefined
  static load(folder: string, revision?: RevisionId): OfficialSchema | undefined {
    const key = revision === undefined ? folder : join(folder, `${revision}.json`)
    if (revision !== undefined && !existsSync(key)) return undefined
    const read = () =>
      revision === undefined ? schemaFor(folder as RevisionId) : JSON.parse(readFileSync(key, 'utf8'))
    const kept = loaded.get(key) ?? new OfficialSchema(read())
    loaded.set(key, kept)
    return kept
  }

  private constructor(document: JsonSchema) {
    this.#document = document
    this.#definitions = (document.$defs ?? document.definitions) as Record<string, JsonSchema>
    for (const [name, definition] of Object.entries(this.#definitions)) {
      const method = (definition.properties as { method?: { const?: string } } | undefined)?.method?.const
      if (method !== undefined && !this.#byMethod.has(method)) this.#byMethod.set(method, name)
    }
  }

  /** Describes what is wrong with a message, if anything. For a response, `method` is that of its request. */
  problem(message: RpcMessage, method?: string): string | undefined {
    const name = this.#nameFor(message, method)
    if (name === undefined) return undefined
    const issues = this.#check(name)(name.endsWith('Result') ? (message as RpcResponse).result : message)
    return issues && `${name}: ${issues.map(({ path, message }) => `${path || '/'} ${message}`).join('; ')}`
  }

  #nameFor(message: RpcMessage, method: string | undefined): string | undefined {
    if ('method' in message) return this.#byMethod.get(message.method)
    if ('error' in message) return this.#definitions.JSONRPCErrorResponse ? 'JSONRPCErrorResponse' : 'JSONRPCError'
    if (method === undefined) return undefined
    if (emptyResults.has(method)) return 'EmptyResult'
    if (method === asTask) return 'CreateTaskResult'
    const result = this.#byMethod.get(method)?.replace(/Request$/, 'Result')
    // Since 2026-07-28 responses have definitions too, which allow results that ask for input.
    return [`${result}Response`, `${result}`].find((name) => this.#definitions[name])
  }

  #check(name: string): JsonSchemaCheck {
    const place = this.#document.$defs ? '$defs' : 'definitions'
    const check =
      this.#checks.get(name) ??
      compileJsonSchema({ ...this.#document, $ref: `#/${place}/${name}` }, { maxSubschemas: 100_000 })
    this.#checks.set(name, check)
    return check
  }
}

const loaded = new Map<string, OfficialSchema>()

/** Checks a conversation message by message, and collects the problems of both sides. */
export class Judge {
  readonly problems: string[] = []
  readonly #schema: OfficialSchema
  readonly #methods = { client: new Map<RequestId, string>(), server: new Map<RequestId, string>() }

  readonly #wantsTask = new Set<string>()

  constructor(schema: OfficialSchema) {
    this.#schema = schema
  }

  hear({ from, message }: Line): void {
    for (const each of [message].flat()) {
      if (isObject(each)) this.#one(from, each)
      else this.problems.push(`${from} sent ${JSON.stringify(each)}, which is not a message`)
    }
  }

  #asked(from: Line['from'], { id, method, params }: RpcRequest): void {
    this.#methods[from].set(id, method)
    if (params?.task !== undefined) this.#wantsTask.add(`${id}`)
  }

  #one(from: Line['from'], message: RpcMessage): void {
    if (classify(message) === 'request') this.#asked(from, message as RpcRequest)
    const asker = this.#methods[from === 'client' ? 'server' : 'client']
    const id = (message as { id?: unknown }).id
    const method = 'method' in message ? undefined : isRequestId(id) ? asker.get(id) : undefined
    // JSON-RPC uses `id: null` if the request could not be read. The older schemas do not allow that.
    if ('error' in message && id === null) return
    const isTask =
      method !== undefined && isObject((message as RpcResponse).result?.task) && this.#wantsTask.has(`${id}`)
    const problem = this.#schema.problem(message, isTask ? asTask : method)
    if (problem !== undefined) this.problems.push(`${from} sent ${JSON.stringify(message).slice(0, 500)}\n  ${problem}`)
  }
}
