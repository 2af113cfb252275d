import type { Client } from '../client/client.ts'
import { type ToolResult, toToolResult } from '../client/features/tool-result.ts'
import type { CallOptions } from '../era/client.ts'
import { DeniedError, McpError, PeerError, Suspended } from '../errors.ts'
import type { Progress, RequestOptions } from '../jsonrpc/pending.ts'
import type { RequestMeta } from '../protocol/meta.ts'
import type { Tool } from '../protocol/tools.ts'
import type { HttpSendOptions } from '../protocol/transport.ts'
import { describeIssues } from '../schema/issues.ts'
import { createJsonValidator, type Validate } from '../schema/user-schema.ts'
import { clock } from '../util/clock.ts'
import type { Emitter } from '../util/emitter.ts'
import { isThenable } from '../util/maybe-async.ts'
import { define, type JsonObject } from '../util/objects.ts'
import { random } from '../util/random.ts'
import type { ActionServer, Trust } from './action.ts'
import type { AuditLog } from './audit/audit.ts'
import type { HostTool } from './catalog.ts'
import type { Consent } from './consent.ts'
import type { DataFlows } from './data-flow.ts'
import type { HostEvents } from './events.ts'
import type { Finding } from './findings/finding.ts'
import { inspectArguments } from './findings/inspect.ts'
import { cleanServerError } from './findings/server-errors.ts'
import type { RelayedOptions } from './relayed-options.ts'
import type { ResultReview, Reviewed } from './result-review.ts'

/** Options of `host.callTool`. */
export interface HostCallOptions extends Pick<RequestOptions, 'signal' | 'timeoutMs' | 'onProgress'> {
  /** Passed on to the server, for example `traceparent`. */
  _meta?: RequestMeta | undefined
  /**
   * Hands control back as soon as the call runs as a task: the result is then a text for the model, of the server or of the host,
   * and `pending` of the result is the result of the task. The call requests a task where the tool supports it. `signal` cancels
   * the task, and `timeoutMs` is about its creation. Default false: the call waits for its task.
   */
  background?: boolean | undefined
  /** @internal Headers to pass on to a server over HTTP. */
  headers?: Readonly<Record<string, string>> | undefined
  /** @internal For a caller of a gateway. */
  relayed?: RelayedOptions | undefined
}

/** Where a result came from. */
export interface ResultSource {
  /** The id of the server. */
  readonly server: string
  /** The name of the tool in the catalog. */
  readonly tool: string
  readonly trust: Trust
}

/**
 * The result of a tool call. `source` and `findings` are not part of its JSON, which is what the server sent, without secrets that
 * were redacted. A result that was held back is an error result (`isError`) that says so.
 */
export interface HostToolResult extends ToolResult {
  readonly source: ResultSource
  /** What is suspicious about the result. Show it to the user before the model acts on the result. */
  readonly findings: readonly Finding[]
  /**
   * With `background`, if the call runs as a task: its result. Rejects as `callTool` would. Give it to the model, or show it to
   * the user.
   */
  readonly pending?: Promise<HostToolResult> | undefined
}

export interface ToolCallsOptions {
  readonly consent: Consent
  readonly review: ResultReview
  readonly flows: DataFlows
  readonly events: Emitter<HostEvents>
  readonly audit: AuditLog | undefined
  readonly caller: string | undefined
  readonly maxResultBytes: number
  readonly strictArguments: boolean
  /** Paths in arguments that are outside of the roots of the server. */
  pathFindings(server: string, args: Readonly<Record<string, unknown>>): readonly Finding[]
}

/** A tool of a connected server. */
export interface FoundTool {
  readonly client: Client
  readonly server: ActionServer
  readonly tool: HostTool
  /** The definition as the server sent it. */
  readonly own: Tool
  /** Whether the server still has this definition, and may be used. */
  isCurrent(): Promise<boolean>
  /** Options of every request on this connection. */
  readonly send: CallOptions
}

/** Calls tools: checks the arguments, asks for consent, records the call, and checks the result. */
export class ToolCalls {
  readonly #options: ToolCallsOptions

  constructor(options: ToolCallsOptions) {
    this.#options = options
  }

  async call(
    found: FoundTool,
    given: Readonly<Record<string, unknown>>,
    options: HostCallOptions = {},
  ): Promise<HostToolResult> {
    const { client, server, tool, own, isCurrent, send } = found
    // The user approves what is shown, so nothing may change it between the question and the call.
    const args = copyJson(given) as Readonly<Record<string, unknown>>
    await this.#check(tool, own, args)
    const { consent, flows, pathFindings } = this.#options
    const flowsFound = flows.find(args, server.id, own)
    const findings = [
      ...inspectArguments(args, own),
      ...pathFindings(server.id, args),
      ...(flows.isCut ? [notCompared] : []),
    ]
    const action = {
      kind: 'tool',
      server,
      tool: own,
      name: tool.name,
      arguments: args,
      flows: flowsFound,
    } as const
    const asked = consent.require(action, findings, { signal: options.signal, origin: options.relayed?.origin })
    if (asked) {
      await asked
      // The user saw one definition; by now the server may have another.
      if (!(await isCurrent())) throw new DeniedError(`${tool.name} was not called: its definition changed meanwhile`)
    }
    options.signal?.throwIfAborted()
    // A call that could not be recorded must not run.
    const room = this.#options.audit?.waitForRoom?.()
    if (room) await room
    const running = this.#begin(tool, options)
    try {
      if (options.background) return await this.#startInBackground(found, args, running, options)
      const task = options.relayed?.asTask && canBeTask(own, client) ? { task: {} } : {}
      const result = await client.callTool(
        { name: own.name, arguments: { ...args }, ...task, ...meta(options) },
        { ...running.options, ...send },
      )
      return await this.#accept(found, args, result, running, options)
    } catch (thrown) {
      throw await this.#failed(thrown, found, running, options)
    }
  }

  async #failed(thrown: unknown, found: FoundTool, running: RunningCall, options: HostCallOptions): Promise<unknown> {
    const error = await this.#toError(thrown, found, options)
    running.end(error instanceof Suspended ? 'suspended' : 'failed', error)
    return error
  }

  /** Returns a text for the model if the call became a task, which goes on. */
  async #startInBackground(
    found: FoundTool,
    args: Readonly<Record<string, unknown>>,
    running: RunningCall,
    options: HostCallOptions,
  ): Promise<HostToolResult> {
    const { client, own, send, tool } = found
    const task = await client.callToolAsTask(own.name, { ...args }, { ...running.options, ...send, ...meta(options) })
    if (task.id === undefined) return this.#accept(found, args, await task.result(), running, options)
    this.#record(tool.name, tool.server, { id: running.id, arguments: args, task: task.id })
    const cancel = () => void task.cancel().catch(() => {})
    if (options.signal?.aborted) cancel()
    else options.signal?.addEventListener('abort', cancel, { once: true })
    const pending = task
      .result()
      .then((result) => this.#accept(found, args, result, running, options))
      .catch(async (thrown) => {
        throw await this.#failed(thrown, found, running, options)
      })
      .finally(() => options.signal?.removeEventListener('abort', cancel))
    // Nobody may wait for it any more. The event `call` and the audit log say how it ended.
    pending.catch(() => {})
    return Object.defineProperty(await this.#immediate(found, task.immediateResponse, options), 'pending', {
      value: pending,
    })
  }

  /** The text for the model until the task has ended: that of the server passes the same review as a result. */
  async #immediate(
    { server, tool, own }: FoundTool,
    given: string | undefined,
    options: HostCallOptions,
  ): Promise<HostToolResult> {
    const isUsable = given !== undefined && given.trim() !== '' && given.length <= maxImmediateChars
    const text = isUsable
      ? given
      : `${tool.name} is running as a task. Continue without its result, which follows later.`
    const result = toToolResult({ content: [{ type: 'text', text }] })
    if (!isUsable) return withSource(tool, result, { result, findings: [] })
    const received = { server, of: 'tool', name: own.name, catalogName: tool.name, result } as const
    return withSource(tool, result, await this.#options.review.review(received, options))
  }

  /** 2026-07-28 tools: the client validates the input. */
  async #check({ name }: HostTool, own: Tool, args: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.#options.strictArguments) checkNames(name, own, args)
    const { inputSchema } = own
    const checked = validatorOf(inputSchema)(args)
    const { issues } = isThenable(checked) ? await checked : checked
    if (issues) throw new McpError('invalid-argument', `${name}: invalid arguments: ${describeIssues(issues)}`)
  }

  #begin({ name, server }: HostTool, { signal, timeoutMs, onProgress, headers }: HostCallOptions): RunningCall {
    const { events } = this.#options
    const id = random.uuid()
    const startedAt = clock.monotonic()
    const emit = (state: 'running' | 'progress' | 'cancelling' | 'completed' | 'failed', more: object = {}) =>
      events.emit('call', { id, server, tool: name, state, ...more })
    const cancelling = () => emit('cancelling')
    signal?.addEventListener('abort', cancelling, { once: true })
    emit('running')
    return {
      id,
      options: {
        signal,
        timeoutMs,
        ...(headers && { headers }),
        onProgress: (received: Progress) => {
          const progress = this.#cleaned(received, server)
          emit('progress', { progress })
          onProgress?.(progress)
        },
      },
      durationMs: () => clock.monotonic() - startedAt,
      end: (state, error) => {
        signal?.removeEventListener('abort', cancelling)
        // The call waits for an answer of its caller, and is run again with it.
        if (state === 'suspended') return
        emit(state, error === undefined ? {} : { error })
        if (state === 'failed') this.#record(name, server, { id, error: messageOf(error) })
      },
    }
  }

  #cleaned(progress: Progress, server: string): Progress {
    if (progress.message === undefined) return progress
    return { ...progress, message: String(this.#options.review.cleanNotification(progress.message, server)) }
  }

  async #accept(
    { server, tool, own }: FoundTool,
    args: Readonly<Record<string, unknown>>,
    result: ToolResult,
    running: RunningCall,
    options: HostCallOptions,
  ): Promise<HostToolResult> {
    const { flows, maxResultBytes } = this.#options
    const size = JSON.stringify(result).length
    if (size > maxResultBytes) {
      throw new McpError(
        'invalid-response',
        `${tool.name}: the result is larger than ${maxResultBytes} bytes (maxResultBytes)`,
      )
    }
    flows.note(tool.server, result)
    const record = (findings: readonly Finding[]) =>
      this.#record(tool.name, tool.server, {
        id: running.id,
        arguments: args,
        isError: result.isError === true,
        resultBytes: size,
        durationMs: Math.round(running.durationMs()),
        findings: findings.map(({ rule, where }) => ({ rule, where })),
      })
    const problemOf = (redacted: ToolResult) => this.#outputProblem(own, result, redacted)
    const received = { server, of: 'tool', name: own.name, catalogName: tool.name, result, problemOf, record } as const
    const reviewing = this.#options.review.review(received, options)
    const reviewed = isThenable(reviewing) ? await reviewing : reviewing
    running.end('completed')
    return withSource(tool, result, reviewed)
  }

  /** Whether a redacted result breaks the promise of its tool. */
  async #outputProblem({ outputSchema }: Tool, before: ToolResult, redacted: ToolResult): Promise<string | undefined> {
    if (outputSchema === undefined || before.structuredContent === undefined) return undefined
    const { issues } = await validatorOf(outputSchema)(redacted.structuredContent)
    return issues && describeIssues(issues)
  }

  /** The text of an error comes from the server as well. */
  async #toError(error: unknown, { server, tool, own }: FoundTool, options: HostCallOptions): Promise<unknown> {
    const { review } = this.#options
    if (!(error instanceof PeerError))
      return cleanServerError(error, (texts) => review.cleanNotification(texts, server.id))
    const received = { server, of: 'tool', name: own.name, catalogName: tool.name } as const
    return review.reviewError(error, received, options).catch((other) => other)
  }

  #record(tool: string, server: string, details: Record<string, unknown>): void {
    const { audit, caller } = this.#options
    audit?.append({ event: 'tool-call', server, caller, details: { tool, ...details } })
  }
}

/** A longer text is not a short answer for the meantime. */
const maxImmediateChars = 4_000

const notCompared: Finding = {
  rule: 'not-inspected',
  severity: 'high',
  where: 'arguments',
  message: 'The arguments are too long to look for data of other servers in all of them.',
  excerpt: '',
}

/** Adds what only the host knows. A result that was held back, or redacted, takes the place of the original. */
function withSource(tool: HostTool, original: ToolResult, reviewed: Reviewed<ToolResult>): HostToolResult {
  const source: ResultSource = { server: tool.server, tool: tool.name, trust: tool.trust }
  const result =
    reviewed.held !== undefined
      ? toToolResult({ content: [{ type: 'text', text: reviewed.held }], isError: true })
      : reviewed.result === original
        ? original
        : toToolResult(reviewed.result as object as JsonObject)
  // One after the other: `defineProperties` takes several times as long.
  Object.defineProperty(result, 'source', { value: source })
  return Object.defineProperty(result, 'findings', { value: reviewed.findings }) as HostToolResult
}

interface RunningCall {
  readonly id: string
  readonly options: HttpSendOptions
  durationMs(): number
  end(state: 'completed' | 'failed' | 'suspended', error?: unknown): void
}

/** Arguments that a schema does not name reach the server unchecked, unless it says that others are welcome. */
function checkNames(name: string, { inputSchema }: Tool, args: Readonly<Record<string, unknown>>): void {
  const { properties, additionalProperties, patternProperties } = inputSchema as Record<string, unknown>
  const isOpen = additionalProperties !== undefined || patternProperties !== undefined || hasBranches(inputSchema)
  if (isOpen || typeof properties !== 'object' || properties === null) return
  const unknown = Object.keys(args).find((key) => !Object.hasOwn(properties, key))
  if (unknown === undefined) return
  const known = Object.keys(properties).join(', ')
  throw new McpError('invalid-argument', `${name} has no argument ${JSON.stringify(unknown)}. It has: ${known}`)
}

/** Other parts of the schema may name more properties. */
function hasBranches(schema: object): boolean {
  return ['allOf', 'anyOf', 'oneOf', 'if', '$ref', '$dynamicRef', 'dependentSchemas'].some((key) =>
    Object.hasOwn(schema, key),
  )
}

/** Deeper values are left to the validation, which refuses them. */
const maxDepth = 500

function copyJson(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => copyJson(item, depth + 1))
  const copy: JsonObject = {}
  for (const key of Object.keys(value)) define(copy, key, copyJson((value as JsonObject)[key], depth + 1))
  return copy
}

/** 2025-11-25: the client requests a task, for tools that support it. */
function canBeTask({ execution }: Tool, client: Client): boolean {
  return (
    execution?.taskSupport === 'optional' && client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined
  )
}

function meta({ _meta }: HostCallOptions): { _meta?: RequestMeta } {
  // The request has a progress token in any case, and merging two objects takes longer than writing one.
  return _meta === undefined || Object.keys(_meta).length === 0 ? {} : { _meta }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A gateway has a session for every call of an anonymous caller, so compiled schemas outlive sessions. */
const validators = /* @__PURE__ */ new WeakMap<object, Validate>()

function validatorOf(schema: JsonObject): Validate {
  let validate = validators.get(schema)
  if (!validate) {
    validate = createJsonValidator(schema)
    validators.set(schema, validate)
  }
  return validate
}
