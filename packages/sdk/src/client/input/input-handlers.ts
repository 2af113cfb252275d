import { ErrorCode, McpError, PeerError, ProtocolError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { ClientCapabilities } from '../../protocol/capabilities.ts'
import type { ElicitContent, ElicitFormParams, ElicitParams, ElicitUrlParams } from '../../protocol/elicitation.ts'
import { fillDefaults, formProblem } from '../../protocol/form.ts'
import type { Root } from '../../protocol/roots.ts'
import type { CreateMessageParams } from '../../protocol/sampling.ts'
import { sampledProblem, samplingProblem, tokensProblem } from '../../protocol/sampling-check.ts'
import { clock } from '../../util/clock.ts'
import { isObject } from '../../util/objects.ts'
import { TokenBucket } from '../../util/token-bucket.ts'
import { clientSideTaskCapabilities } from '../tasks/client-side-tasks.ts'
import type { ClientHandlers, ElicitFormResult, InputContext, RootList } from './handlers.ts'
import { checkRoots } from './roots.ts'

/** Limits the URL elicitations that the server can still report as complete. */
const maxElicitations = 1_000

const handlerNames: ReadonlySet<string> = new Set(['elicit', 'elicitUrl', 'sample', 'countTokens', 'roots'])

/** Options among the handlers. */
const optionNames: ReadonlySet<string> = new Set(['tasks', 'samplesPerMinute'])

/** Limits the fields of a form. Forms of 2025-06-18 have one field for each choice of a multi-select. */
const maxFields = 2_000

/** Answers one kind of request. */
export type InputHandler = (params: Params, context: InputContext) => Promise<ResultObject>

/** Calls the handlers of the program, and checks what servers send and handlers return. */
export class InputHandlers {
  readonly #handlers: ClientHandlers
  /** The capabilities to declare: those that the handlers provide, and those that the program adds. */
  readonly capabilities: ClientCapabilities
  /** The methods that have a handler. */
  readonly methods: ReadonlyMap<string, InputHandler>
  readonly #elicitationIds = new Set<string>()
  readonly #sampleLimit: TokenBucket | undefined
  #roots: RootList | undefined

  constructor(handlers: ClientHandlers, given: ClientCapabilities) {
    for (const [name, handler] of Object.entries(handlers)) {
      if (optionNames.has(name)) continue
      const isHandler =
        handler === undefined || typeof handler === 'function' || (name === 'roots' && Array.isArray(handler))
      if (!isHandler || !handlerNames.has(name))
        throw new TypeError(`Unknown handler: handlers.${name}. Use elicit, elicitUrl, sample or roots.`)
    }
    this.#handlers = handlers
    this.#sampleLimit = toLimit(handlers.samplesPerMinute)
    this.capabilities = declare(handlers, given)
    if (Array.isArray(handlers.roots)) this.#roots = checkRoots(handlers.roots)
    const methods = new Map<string, InputHandler>()
    if (handlers.elicit || handlers.elicitUrl)
      methods.set('elicitation/create', (params, context) => this.#elicit(params, context))
    if (handlers.sample) methods.set('sampling/createMessage', (params, context) => this.#sample(params, context))
    if (handlers.roots) methods.set('roots/list', (_params, context) => this.#listRoots(context))
    this.methods = methods
  }

  /**
   * Replaces the roots. Throws if a root is not a local folder, or if the client did not declare roots.
   * @returns Whether the server has to be notified.
   */
  setRoots(roots: RootList): boolean {
    if (!this.#handlers.roots) {
      throw new McpError(
        'invalid-argument',
        'setRoots() needs the roots capability, which is declared on connect: pass handlers: { roots: [] } to the client',
      )
    }
    const checked = checkRoots(roots)
    const isNew = JSON.stringify(checked) !== JSON.stringify(this.#roots)
    this.#roots = checked
    return isNew && this.capabilities.roots?.listChanged === true
  }

  /** Returns true once for each URL elicitation that the server requested (2025-11-25 elicitation). */
  completed(elicitationId: string): boolean {
    return this.#elicitationIds.delete(elicitationId)
  }

  #elicit(params: Params, context: InputContext): Promise<ResultObject> {
    const request = params as unknown as ElicitParams
    return request.mode === 'url' ? this.#elicitUrl(request, context) : this.#elicitForm(request, context)
  }

  async #elicitForm({ message, requestedSchema }: ElicitFormParams, context: InputContext): Promise<ResultObject> {
    const { elicit } = this.#handlers
    if (!elicit) throw notDeclared('elicitation.form')
    if (Object.keys(requestedSchema.properties ?? {}).length > maxFields) {
      throw new ProtocolError(ErrorCode.InvalidParams, `A form has at most ${maxFields} fields`)
    }
    const { action, content } = checkOutcome(await elicit({ message, requestedSchema }, context))
    if (action !== 'accept') return { action }
    const filled = fillDefaults(requestedSchema, withoutUndefined(content))
    const problem = formProblem(requestedSchema, filled)
    if (problem === undefined) return { action, content: filled }
    throw new McpError(
      'invalid-argument',
      `The handler "elicit" returned content that does not match the form: ${problem}`,
    )
  }

  async #elicitUrl(
    { message, url: address, elicitationId }: ElicitUrlParams,
    context: InputContext,
  ): Promise<ResultObject> {
    const { elicitUrl } = this.#handlers
    if (!elicitUrl) throw notDeclared('elicitation.url')
    const url = URL.canParse(address) ? new URL(address) : undefined
    if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
      throw new ProtocolError(ErrorCode.InvalidParams, 'params.url must be an https: URL')
    }
    if (elicitationId !== undefined) this.#remember(elicitationId)
    const outcome = await elicitUrl({ message, url, elicitationId, warnings: urlWarnings(url) }, context)
    return { action: checkOutcome(outcome).action }
  }

  /** Remembers the URL elicitations of an error, which the server may report as complete (2025-11-25, -32042). */
  noteRequired(error: unknown): void {
    if (!(error instanceof PeerError) || error.rpcCode !== ErrorCode.UrlElicitationRequired) return
    const { elicitations } = isObject(error.data) ? error.data : {}
    if (!Array.isArray(elicitations)) return
    for (const elicitation of elicitations.slice(0, maxElicitations)) {
      if (isObject(elicitation) && typeof elicitation.elicitationId === 'string')
        this.#remember(elicitation.elicitationId)
    }
  }

  #remember(elicitationId: string): void {
    const [oldest] = this.#elicitationIds
    if (oldest !== undefined && this.#elicitationIds.size >= maxElicitations) this.#elicitationIds.delete(oldest)
    this.#elicitationIds.add(elicitationId)
  }

  async #sample(given: Params, context: InputContext): Promise<ResultObject> {
    const params = given as unknown as CreateMessageParams
    const hasTools = params.tools !== undefined || params.toolChoice !== undefined
    if (hasTools && !this.capabilities.sampling?.tools) throw notDeclared('sampling.tools')
    const problem = samplingProblem(params)
    if (problem !== undefined) throw new ProtocolError(ErrorCode.InvalidParams, problem)
    const now = clock.now()
    if (this.#sampleLimit?.take(now) === false) throw rateLimited(this.#sampleLimit.wait(now))
    const result = await this.#handlers.sample!(params, context)
    const wrong = sampledProblem(result, params) ?? tokensProblem(result, params, this.#handlers.countTokens)
    if (wrong === undefined) return result as unknown as ResultObject
    throw new McpError('invalid-argument', `The handler "sample" returned an invalid message: ${wrong}`)
  }

  async #listRoots(context: InputContext): Promise<ResultObject> {
    const { roots } = this.#handlers
    const list: Root[] = checkRoots(this.#roots ?? (typeof roots === 'function' ? await roots(context) : []))
    return { roots: list }
  }
}

function declare(handlers: ClientHandlers, given: ClientCapabilities): ClientCapabilities {
  const { elicit, elicitUrl, sample, roots } = handlers
  const elicitation = { ...(elicit && { form: {} }), ...(elicitUrl && { url: {} }), ...given.elicitation }
  return {
    ...clientSideTaskCapabilities(handlers),
    ...given,
    ...((elicit || elicitUrl) && { elicitation }),
    ...(sample && { sampling: { ...given.sampling } }),
    // The client cannot know when the list that a function returns changes.
    ...(roots && { roots: { ...(Array.isArray(roots) && { listChanged: true }), ...given.roots } }),
  }
}

function withoutUndefined(content: ElicitFormResult['content']): ElicitContent {
  const given = Object.entries(content ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as ElicitContent
}

function checkOutcome(outcome: ElicitFormResult): ElicitFormResult {
  const action = isObject(outcome) ? outcome.action : undefined
  if (action === 'accept' || action === 'decline' || action === 'cancel') return outcome
  throw new McpError(
    'invalid-argument',
    'Elicitation handlers must return { action } with "accept", "decline" or "cancel"',
  )
}

/** 2025-11-25 elicitation, error handling; sampling, `tools`. */
function notDeclared(what: string): ProtocolError {
  return new ProtocolError(ErrorCode.InvalidParams, `This client did not declare ${what}`)
}

/** Sampling costs money, so it is rate limited (2025-11-25 sampling, security considerations). */
function toLimit(perMinute: number | false = 120): TokenBucket | undefined {
  if (perMinute === false) return undefined
  if (typeof perMinute !== 'number' || !(perMinute > 0)) {
    throw new TypeError('handlers.samplesPerMinute must be greater than 0, or false for no limit')
  }
  return new TokenBucket(Math.max(1, perMinute), perMinute / 60, clock.now())
}

function rateLimited(retryAfterMs: number): ProtocolError {
  const message = `Rate limit exceeded: try again in ${retryAfterMs} ms.`
  return new ProtocolError(-32_000, message, { error: 'rate_limited', retryAfterMs })
}

/** Describes what is suspicious about the URL of an elicitation (2025-11-25 elicitation, safe URL handling). */
export function urlWarnings(url: URL): string[] {
  const warnings: string[] = []
  if (url.protocol !== 'https:') warnings.push('The connection is not encrypted (http).')
  if (url.username !== '' || url.password !== '') {
    warnings.push(`The text before the @ is not part of the host. The host is ${url.hostname}.`)
  }
  if (url.hostname.split('.').some((label) => label.startsWith('xn--'))) {
    warnings.push('The host contains characters that can look like others (punycode).')
  }
  if (/^(\d+\.){3}\d+$|^\[/.test(url.hostname)) warnings.push('The host is an IP address.')
  if (url.port !== '') warnings.push(`The port is unusual (${url.port}).`)
  return warnings
}
