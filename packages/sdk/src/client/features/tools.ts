import type { CallOptions } from '../../era/client.ts'
import { McpError, PeerError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Progress, RequestOptions, SendOptions } from '../../jsonrpc/pending.ts'
import { isHeaderRefusal } from '../../protocol/mirrored-headers.ts'
import type { CallToolParams, CallToolResult, ListToolsResult, Tool, ToolExecution } from '../../protocol/tools.ts'
import type { JsonSchemaCompiler } from '../../schema/json-schema.ts'
import type { SchemaLike } from '../../schema/standard.ts'
import { clock } from '../../util/clock.ts'
import type { Emitter } from '../../util/emitter.ts'
import type { Connection } from '../connection.ts'
import type { ClientEvents, ToolCallRecord } from '../events.ts'
import type { ListCall } from '../list-call.ts'
import { inExchange, type Requester } from '../requester.ts'
import type { CachedRequests } from '../response-cache.ts'
import type { ClientTasks, StartedCall } from '../tasks/client-tasks.ts'
import { isTask, offersTaskCalls, warnIfTasksNeeded } from '../tasks/task-support.ts'
import type { Pages } from './pages.ts'
import { type Mirroring, ToolCatalog } from './tool-catalog.ts'
import { readStructured, type ToolCallOptions, type ToolResult, toToolResult } from './tool-result.ts'

export interface ToolsOptions {
  readonly connection: Connection
  readonly requester: Requester
  readonly cached: CachedRequests
  readonly pages: Pages
  readonly tasks: ClientTasks
  readonly events: Emitter<ClientEvents>
  /** Defaults for every request. */
  readonly defaults: RequestOptions | undefined
  /** Whether calls may become tasks at all. */
  readonly usesTasks: boolean
  /** Compiles output schemas. Undefined: Tenon's own engine. */
  readonly compileJsonSchema: JsonSchemaCompiler | undefined
  warn(message: string): void
}

/** The result of a call, or if there is a `call`, the task that it became. */
export interface StartedTool {
  readonly result: ResultObject
  readonly call?: StartedCall
}

/** Progress is always requested, so that a long-running tool that reports it does not time out. */
const withProgress: SendOptions = { progress: true }

/** The tools of the server. */
export class Tools {
  readonly #options: ToolsOptions
  readonly #catalog: ToolCatalog
  readonly #calls: ToolCalls

  constructor(options: ToolsOptions) {
    this.#options = options
    const { requester, cached, warn, compileJsonSchema } = options
    const catalog = new ToolCatalog(warn, () => this.#mirroring, compileJsonSchema)
    this.#catalog = catalog
    this.#calls = new ToolCalls({ catalog, requester, cached })
  }

  list(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListToolsResult, Tool> {
    const { requester, pages } = this.#options
    const source = {
      method: 'tools/list' as const,
      member: 'tools',
      require: () => requester.require('tools'),
      items: (page: ListToolsResult) => page.tools,
      withItems: (page: ListToolsResult, tools: Tool[]) => ({ ...page, tools }),
      filter: (tools: Tool[]) => this.#catalog.read(tools),
    }
    return pages.list(source, params, options)
  }

  /** Leaves tools with invalid `x-mcp-header` annotations out of a page. */
  accept(page: ResultObject): ResultObject {
    return Array.isArray(page.tools) ? { ...page, tools: this.#catalog.withoutInvalidHeaders(page.tools) } : page
  }

  /** Calls a tool and returns its checked result. Waits for the task if the call becomes one. */
  async call(params: CallToolParams, options: ToolCallOptions<SchemaLike> | undefined): Promise<ToolResult> {
    const { requester, events, warn } = this.#options
    const missing = requester.require('tools')
    if (missing) await missing
    const { name } = params
    const sent = options ? { ...options, outputSchema: undefined, progress: true } : withProgress
    const startedAt = events.hasListeners('toolCall') ? clock.now() : 0
    try {
      const needsTask = this.offersTaskCalls && (await this.#calls.taskSupport(name)) === 'required'
      const result = toToolResult(await this.callToEnd(needsTask ? { task: {}, ...params } : params, sent), (problem) =>
        warn(`The tool "${name}" returned invalid content, which is ignored: ${problem}`),
      )
      const checking = this.checkOutput(name, result)
      if (checking) await checking
      if (options?.outputSchema) await readStructured(name, result, options.outputSchema)
      if (startedAt) this.#record(name, startedAt, result.isError ? 'error' : 'success')
      return result
    } catch (error) {
      if (startedAt) this.#record(name, startedAt, 'failed', error)
      warnIfTasksNeeded(error)
      throw withCallerStack(error)
    }
  }

  /** Calls a tool and returns the result as it was received, also if the call became a task. */
  async callToEnd(params: CallToolParams, options: CallOptions | undefined): Promise<ResultObject> {
    const { result, call } = await this.start(params, options)
    return call ? this.#options.tasks.drive(result, call, { ...this.#options.defaults, ...options }) : result
  }

  /** Sends one call and returns what the server answers, which may be a request for input or a task. */
  callOnce(params: CallToolParams, options: CallOptions | undefined): Promise<ResultObject> {
    return this.#calls.call(params, options)
  }

  /** Calls a tool, and returns when there is a result or a task. */
  async start(params: CallToolParams, options: CallOptions | undefined): Promise<StartedTool> {
    const { requester } = this.#options
    let progressToken: number | undefined
    const onSent = (id: number) => {
      progressToken = id
    }
    // The token of the call stays that of its task, and so does the order of its values.
    const progress = params.task && requester.limitProgress(options?.onProgress)
    const onProgress = progress ? (value: Progress) => progress.add(value) : options?.onProgress
    const sent = params.task ? { ...options, onSent, onProgress } : options
    const first: ResultObject = await inExchange(options, () => this.#calls.call(params, sent))
    const result = requester.requiresInput('tools/call', first)
      ? await requester.complete(first, 'tools/call', params, options, (next) =>
          inExchange(options, () => this.#calls.call(next, options)),
        )
      : first
    if (!isTask(result, params, requester.revision?.lacks('tasks/update') === false)) return { result }
    return { result, call: { tool: params.name, progressToken, progress, input: options?.input } }
  }

  /** Checks structured content against the output schema of the tool. Returns undefined if there is nothing to wait for. */
  checkOutput(name: string, result: ToolResult): Promise<void> | undefined {
    return this.#calls.checkOutput(name, result)
  }

  /** Whether the server says that repeating a call has no further effect. */
  isIdempotent(name: string): Promise<boolean> {
    return this.#calls.isIdempotent(name)
  }

  /** Whether a call of this tool can be requested as a task (2025-11-25). */
  async supportsTasks(name: string): Promise<boolean> {
    return this.offersTaskCalls && (await this.#calls.taskSupport(name)) !== 'forbidden'
  }

  /** Whether tool calls can be requested as tasks (2025-11-25). */
  get offersTaskCalls(): boolean {
    return this.#options.usesTasks && offersTaskCalls(this.#options.connection.live?.era.facts)
  }

  /** The server announced that its list of tools changed. */
  listChanged(): void {
    this.#catalog.listChanged()
  }

  /** Another server process or session may offer other tools. */
  clear(): void {
    this.#catalog.clear()
  }

  get #mirroring(): Mirroring {
    const { connection, requester } = this.#options
    const { readsHeaders, mirrorsAlways } = connection.transport ?? {}
    if (readsHeaders && requester.revision?.mirrorsHeaders) return 'required'
    return mirrorsAlways ? 'optional' : 'none'
  }

  #record(name: string, startedAt: number, outcome: ToolCallRecord['outcome'], error?: unknown): void {
    const durationMs = clock.now() - startedAt
    this.#options.events.emit('toolCall', { name, durationMs, outcome, ...(error !== undefined && { error }) })
  }
}

/** The error was created where the response was read. Callers need the stack of the call. */
function withCallerStack(error: unknown): unknown {
  if (error instanceof McpError) Error.captureStackTrace?.(error, withCallerStack)
  return error
}

export interface ToolCallsOptions {
  readonly catalog: ToolCatalog
  readonly requester: Requester
  readonly cached: CachedRequests
}

/** Limits how many pages are read to find one tool. */
const maxToolPages = 1_000

/** Sends `tools/call` with the headers that the tool requires, and looks up tools that are not known yet. */
export class ToolCalls {
  readonly #options: ToolCallsOptions

  constructor(options: ToolCallsOptions) {
    this.#options = options
  }

  async call(params: CallToolParams, options: CallOptions | undefined): Promise<CallToolResult> {
    const { catalog } = this.#options
    const headers = catalog.headersOf(params)
    try {
      return await this.#send(headers, params, options)
    } catch (error) {
      if (!(error instanceof PeerError) || !isHeaderRefusal(error.rpcCode, error.message)) throw error
      // 2026-07-28 streamable-http, client behaviour: the tool may require other headers than when it was listed.
      await this.#readList(params.name)
      const fresh = catalog.headersOf(params)
      if (JSON.stringify(fresh) === JSON.stringify(headers)) throw error
      return this.#send(fresh, params, options)
    }
  }

  /** Whether the tool can, must or must not be called as a task (2025-11-25 tools, `execution`). */
  async taskSupport(name: string): Promise<NonNullable<ToolExecution['taskSupport']>> {
    const { catalog } = this.#options
    if (!catalog.isKnown(name)) await this.#lookUp(name)
    return catalog.taskSupport(name)
  }

  /** Whether the server says that repeating a call has no further effect. */
  async isIdempotent(name: string): Promise<boolean> {
    const { catalog } = this.#options
    if (!catalog.isKnown(name)) await this.#lookUp(name)
    return catalog.isIdempotent(name)
  }

  /**
   * Checks structured content against the output schema of the tool. If the server announced that its tools changed, the
   * schema is read again before a result is rejected. Returns undefined if there is nothing to wait for.
   */
  checkOutput(name: string, result: Pick<CallToolResult, 'isError' | 'structuredContent'>): Promise<void> | undefined {
    const { catalog } = this.#options
    try {
      catalog.checkOutput(name, result)
      return undefined
    } catch (error) {
      if (catalog.isKnown(name)) throw error
      return this.#lookUp(name).then(() => catalog.checkOutput(name, result))
    }
  }

  async #lookUp(name: string): Promise<void> {
    // A server that cannot list its tools may still run them.
    await this.#readList(name).catch(() => {})
    this.#options.catalog.noteMissing(name)
  }

  #send(
    headers: Record<string, string> | undefined,
    params: CallToolParams,
    options: CallOptions | undefined,
  ): Promise<CallToolResult> {
    const sent = headers && options?.headers ? withoutCaseDuplicates(options.headers, headers) : headers
    return this.#options.requester.call('tools/call', params, sent ? { ...options, headers: sent } : options)
  }

  /** Reads the list of tools from the server, up to the page with this tool. */
  async #readList(name: string): Promise<void> {
    const { catalog, requester, cached } = this.#options
    cached.forget((method) => method === 'tools/list')
    let cursor: string | undefined
    for (let page = 0; page < maxToolPages; page++) {
      const result = await requester.call('tools/list', cursor === undefined ? {} : { cursor })
      const tools = Array.isArray(result.tools) ? catalog.read(result.tools) : []
      cursor = result.nextCursor
      if (typeof cursor !== 'string' || tools.some((tool) => tool.name === name)) return
    }
  }
}

/** Adds headers that a program passes on. Those that the tool requires win, whatever the case of their names. */
function withoutCaseDuplicates(
  given: Readonly<Record<string, string>>,
  required: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = new Set(Object.keys(required).map((name) => name.toLowerCase()))
  const others = Object.entries(given).filter(([name]) => !names.has(name.toLowerCase()))
  return { ...Object.fromEntries(others), ...required }
}
