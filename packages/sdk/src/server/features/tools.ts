import { checkAccess } from '../../era/access.ts'
import { CapabilityError, invalidParams, ProtocolError, Suspended } from '../../errors.ts'
import { jsonProblem } from '../../jsonrpc/json-problem.ts'
import type { Params } from '../../jsonrpc/message.ts'
import { type ContentBlock, contentListProblem, describeType } from '../../protocol/content.ts'
import { isInputRequired } from '../../protocol/input-check.ts'
import { type HeaderReader, mirroredArgumentsProblem } from '../../protocol/mirrored-headers.ts'
import type { CallToolResult, Tool } from '../../protocol/tools.ts'
import type { Outcome } from '../../replay/conversation.ts'
import { describeIssues } from '../../schema/issues.ts'
import type { SchemaLike, StandardResult } from '../../schema/standard.ts'
import type { UserSchema } from '../../schema/user-schema.ts'
import { lastTool } from '../../util/crash-hint.ts'
import { chain, isThenable, toPromise } from '../../util/maybe-async.ts'
import { isObject } from '../../util/objects.ts'
import { sanitizeValue } from '../../util/sanitize.ts'
import { isNear } from '../../util/unknown-options.ts'
import { warnOnce } from '../../util/warn.ts'
import type { Context } from '../context.ts'
import type { McpServer } from '../mcp-server.ts'
import type { ToolTaskConfig } from '../task-runtime.ts'
import { ToolError } from '../tool-error.ts'
import { type FeatureServer, findMount, isHideable, isListed, prefixed, uniqueBy } from './feature.ts'
import { Registry } from './registry.ts'
import { type AnyToolHandler, compileTool, type RegisteredTool, type ToolConfig, type ToolEntry } from './tool-entry.ts'

const noArguments = Object.freeze({})

/** The tools feature. */
export class Tools {
  readonly #server: FeatureServer
  readonly #entries: Registry<ToolEntry>
  /** Cached until the next registration, because lists are requested often. */
  #hasScoped: boolean | undefined
  readonly #results: ToolResults

  constructor(server: FeatureServer) {
    this.#server = server
    this.#results = new ToolResults(server)
    this.#entries = new Registry('tool', () => {
      this.#hasScoped = undefined
      server.changed('tools')
    })
  }

  register(name: string, config: ToolConfig<SchemaLike, SchemaLike>, handler: AnyToolHandler): RegisteredTool {
    return this.#entries.register<AnyChanges>(
      this.#compile(name, config, handler, true),
      (entry, { name = entry.name, handler = entry.handler, ...changes }) =>
        this.#compile(name, { ...entry.config, ...changes }, handler, entry.enabled),
    )
  }

  #compile(
    name: string,
    config: ToolConfig<SchemaLike, SchemaLike>,
    handler: AnyToolHandler,
    enabled: boolean,
  ): ToolEntry {
    const { hasTasks, compileJsonSchema } = this.#server
    return compileTool(name, config, handler, { enabled, hasTasks, compileJsonSchema })
  }

  /** True if the capability is declared. */
  get present(): boolean {
    return this.#entries.used || this.#server.mounts.some(({ server }) => server.features.tools.present)
  }

  /**
   * Returns the tools that the caller can see, in order of registration, mounted servers last.
   * @param hides Whether to hide tools from callers without their scopes. Passed on to mounted servers if true.
   */
  definitions(ctx: Context, hides = this.#server.hideUnauthorized): Tool[] {
    const listed = this.#entries.enabled().filter(({ config }) => isListed(ctx, config, hides))
    const own = listed.map(({ definition }) => definition)
    const mounted = this.#server.mounts.flatMap(({ prefix, server }) => {
      const tools = server.features.tools.definitions(ctx, hides || undefined)
      return tools.map((tool) => ({ ...tool, name: prefixed(prefix, tool.name) }))
    })
    return mounted.length === 0 ? own : uniqueBy([...own, ...mounted], ({ name }) => name)
  }

  /** Returns whether a tool exists here or in a mounted server. */
  has(name: string): boolean {
    return this.#entries.get(name) !== undefined || findMount(this.#server.mounts, name, hasTool) !== undefined
  }

  /** Returns whether callers may see different lists, so that the list cannot be cached for all. */
  listVaries(hides = this.#server.hideUnauthorized): boolean {
    this.#hasScoped ??= this.#entries.enabled().some(({ config }) => config.requiredScopes)
    const own = this.#hasScoped && this.#entries.enabled().some(({ config }) => isHideable(config, hides))
    return own || this.#server.mounts.some(({ server }) => server.features.tools.listVaries(hides || undefined))
  }

  /** Serves `tools/list`. */
  list(params: Params, ctx: Context): Outcome {
    return this.#server.pages.list('tools', this.definitions(ctx), ({ name }) => name, params)
  }

  /** Serves `tools/call`. */
  call(params: Params, ctx: Context): Outcome {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry?.enabled) return this.#check(entry, params.arguments ?? noArguments, ctx)
    const mount = entry ? undefined : findMount(this.#server.mounts, name, hasTool)
    if (mount) return mount.server.server.delegate('tools/call', { ...params, name: mount.name }, ctx)
    // Only names that the caller can see, and not of all tools of a very large server.
    const near = this.definitions(ctx)
      .slice(0, 1_000)
      .find((tool) => isNear(tool.name, name))
    throw invalidParams(`Unknown tool: ${name.slice(0, 200)}${near ? `. Did you mean ${near.name}?` : ''}`)
  }

  /** Returns how a tool supports tasks; undefined if it does not exist. */
  taskConfig(params: Params): ToolTaskConfig | undefined {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry?.enabled) {
      const { execution, taskPolicy, immediateResponse, requiredScopes } = entry.config
      const support = execution?.taskSupport ?? 'forbidden'
      return { support, policy: taskPolicy, immediateResponse, requiredScopes }
    }
    const mount = entry ? undefined : findMount(this.#server.mounts, name, hasTool)
    return mount?.server.features.tools.taskConfig({ ...params, name: mount.name })
  }

  /** Returns whether the author says that a call can be repeated without a second effect. */
  isRepeatable(params: Params): boolean {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry)
      return entry.config.annotations?.readOnlyHint === true || entry.config.annotations?.idempotentHint === true
    const mount = findMount(this.#server.mounts, name, hasTool)
    return mount?.server.features.tools.isRepeatable({ ...params, name: mount.name }) ?? false
  }

  /** Returns the problem with headers that mirror arguments of the call, if there is one. */
  headersProblem(params: Params, headers: HeaderReader, required: boolean): string | undefined {
    const name = params.name as string
    const entry = this.#entries.get(name)
    if (entry) return mirroredArgumentsProblem(entry.mirrored, params.arguments, headers, required)
    const mount = findMount(this.#server.mounts, name, hasTool)
    return mount?.server.features.tools.headersProblem({ ...params, name: mount.name }, headers, required)
  }

  #check(entry: ToolEntry, args: unknown, ctx: Context): Outcome {
    checkAccess(ctx.call, entry.config.requiredScopes)
    if (!entry.input) return this.#run(entry, noArguments, ctx)
    return chain(entry.input.validate(args), (checked) =>
      checked.issues ? this.#invalidArguments(entry, checked.issues, args, ctx) : this.#run(entry, checked.value, ctx),
    )
  }

  /** Since 2025-11-25 a result, so that the model can read it and retry; before, a JSON-RPC error. */
  #invalidArguments(
    entry: ToolEntry,
    issues: StandardResult<unknown>['issues'],
    args: unknown,
    ctx: Context,
  ): CallToolResult {
    const { name, inputSchema } = entry.definition
    const known = Object.keys(inputSchema.properties ?? {})
    const unknown = Object.keys(args as object).filter((key) => known[0] && !known.includes(key))
    const names = unknown[0] ? `. Unknown: ${unknown}`.slice(0, 300) + `. Known: ${known}`.slice(0, 300) : ''
    const text = `Invalid arguments for tool ${name}: ${describeIssues(issues ?? [])}${names}`
    if (ctx.caller.rules.argumentErrors === 'protocol') throw invalidParams(text)
    return failure(text)
  }

  #run(entry: ToolEntry, args: unknown, ctx: Context): Outcome {
    let returned: unknown
    try {
      lastTool.name = entry.name
      returned = entry.handler(args as never, ctx)
    } catch (error) {
      return this.#results.fail(entry, error, ctx)
    }
    if (!isThenable(returned)) return this.#results.finish(entry, returned, ctx)
    return toPromise(returned).then(
      (value) => this.#results.finish(entry, value, ctx),
      (error) => this.#results.fail(entry, error, ctx),
    )
  }
}

interface AnyChanges extends ToolConfig<SchemaLike, SchemaLike> {
  name?: string | undefined
  handler?: AnyToolHandler | undefined
}

function hasTool(server: McpServer, name: string): boolean {
  return server.features.tools.has(name)
}

/** Turns what a tool handler returned or threw into the result of the call. */
export class ToolResults {
  readonly #server: FeatureServer

  constructor(server: FeatureServer) {
    this.#server = server
  }

  /** Returns the result of a handler that threw. Rethrows errors that become a JSON-RPC error. */
  fail(entry: ToolEntry, error: unknown, ctx: Context): CallToolResult {
    if (error instanceof ProtocolError || error instanceof Suspended) throw error
    if (error instanceof CapabilityError) {
      if (ctx.caller.rules.missingCapability === 'protocol') throw error
      return failure(error.message)
    }
    const { sanitize, maskErrors } = this.#server
    if (error instanceof ToolError) {
      const { content, structuredContent } = error
      const result = { content, ...(structuredContent && { structuredContent }), isError: true }
      return this.#complete(entry, sanitize ? sanitizeValue(result, sanitize) : result)
    }
    const message = maskErrors ? undefined : messageOf(entry.name, error)
    if (message !== undefined) return failure(sanitize ? sanitize(message) : message)
    this.#server.reportError(error)
    return failure(`Tool "${entry.definition.name}" failed`)
  }

  /** Returns the result of a handler that returned. */
  finish(entry: ToolEntry, returned: unknown, ctx: Context): Outcome {
    if (isInputRequired(returned)) return returned
    const outcome = this.#toResult(entry, returned, ctx)
    const { sanitize, sanitizesResults } = this.#server
    return sanitize && sanitizesResults ? chain(outcome, (result) => sanitizeValue(result, sanitize)) : outcome
  }

  #toResult(entry: ToolEntry, returned: unknown, ctx: Context): Outcome {
    if (isResult(returned)) {
      const isPlain = !entry.output || returned.isError
      return isPlain ? this.#complete(entry, returned) : this.#checkOutput(entry, entry.output!, returned, ctx)
    }
    if (entry.output) return this.#checkOutput(entry, entry.output, { structuredContent: returned }, ctx)
    if (typeof returned === 'string') return { content: [{ type: 'text', text: returned }] }
    if (returned === undefined) {
      const { name } = entry
      warnOnce(`nothing ${name}`, `Tool "${name}" returned undefined, so its result is empty. Return text.`)
      return { content: [] }
    }
    const what = isObject(returned) && 'content' in returned ? 'invalid content' : `a plain value (${typeof returned})`
    return this.#badOutput(
      entry,
      `returned ${what}. Return text or { content: [{ type: 'text', text }] }, or add an outputSchema.`,
    )
  }

  #checkOutput(entry: ToolEntry, output: UserSchema, result: Partial<CallToolResult>, ctx: Context): Outcome {
    if (result.structuredContent === undefined) {
      return this.#badOutput(entry, 'has an outputSchema but did not return structuredContent')
    }
    return chain(output.validate(result.structuredContent), (checked): CallToolResult => {
      if (checked.issues)
        return this.#badOutput(
          entry,
          `returned ${describeType(result.structuredContent)} that does not match its outputSchema`,
          `: ${describeIssues(checked.issues)}`,
          '. Return what the schema describes.',
        )
      const complete = this.#complete(entry, { ...result, structuredContent: checked.value })
      const isWrapped = entry.wrapsOutput && ctx.caller.rules.objectOutput && !complete.isError
      return isWrapped ? withWrappedOutput(complete) : complete
    })
  }

  /** Sends structured content as JSON text too, for clients that read only content (2025-06-18 tools). */
  #complete(entry: ToolEntry, result: Partial<CallToolResult>): CallToolResult {
    const { content, structuredContent } = result
    const needsText = structuredContent !== undefined && !content?.length
    if (needsText) return this.#withText(entry, result)
    if (content === undefined) return { ...result, content: [] }
    const problem = contentListProblem(content)
    if (problem !== undefined) return this.#badOutput(entry, `returned an invalid result: ${problem}`)
    for (const { type } of content) if (type === 'resource') this.#server.onEmbeddedResource(entry.name)
    return result as CallToolResult
  }

  #withText(entry: ToolEntry, result: Partial<CallToolResult>): CallToolResult {
    try {
      return { ...result, content: [{ type: 'text', text: JSON.stringify(result.structuredContent) }] }
    } catch {
      const problem = jsonProblem(result.structuredContent, 'structuredContent') ?? 'structuredContent is not JSON'
      return this.#badOutput(entry, `returned an invalid result: ${problem}`)
    }
  }

  /**
   * Reports a mistake of the author. The model sees it as a failure of the tool.
   * @param details For `onError` only, because they may contain data of the result.
   */
  #badOutput(entry: ToolEntry, problem: string, details = '', wayOut = ''): CallToolResult {
    const message = `Tool "${entry.name}" ${problem}`
    this.#server.reportError(new TypeError(message + details + wayOut))
    return failure(this.#server.maskErrors ? `Tool "${entry.name}" failed` : message + wayOut)
  }
}

/** Returns a result that reports an error to the model. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Anything can be thrown. The contents of an object that is not an error are not sent to the client. */
function messageOf(name: string, error: unknown): string {
  const isPlain = error !== undefined && typeof error !== 'object' && typeof error !== 'function'
  if (isPlain) return String(error)
  const { message } = isObject(error) ? error : {}
  if (typeof message === 'string') return message
  const members = isObject(error) ? Object.keys(error).slice(0, 20).join(', ') : ''
  return `Tool "${name}" threw ${describeType(error)} instead of an Error${members && ` (with ${members})`}`
}

function isResult(value: unknown): value is CallToolResult {
  if (!isObject(value)) return false
  return 'structuredContent' in value || (Array.isArray(value.content) && value.content.every(isBlock))
}

function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value.type === 'string'
}

/** Up to 2025-11-25, structured content must be an object. */
function withWrappedOutput(result: CallToolResult): CallToolResult {
  return { ...result, structuredContent: { result: result.structuredContent } }
}
