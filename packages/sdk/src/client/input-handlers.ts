import { McpError, PeerError, ProtocolError, RpcCode } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { ClientCapabilities } from '../protocol/capabilities.ts'
import type { ElicitContent, ElicitFormParams, ElicitParams, ElicitUrlParams } from '../protocol/elicitation.ts'
import { fillDefaults, formProblem } from '../protocol/form.ts'
import type { Root } from '../protocol/roots.ts'
import type { CreateMessageParams } from '../protocol/sampling.ts'
import { sampledProblem, samplingProblem, tokensProblem } from '../protocol/sampling-check.ts'
import { clock } from '../util/clock.ts'
import { isObject } from '../util/objects.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import type { Asking, ClientHandlers, ElicitOutcome, RootList } from './handlers.ts'
import { checkRoots } from './roots.ts'
import { clientSideTaskCapabilities } from './tasks/client-side-tasks.ts'
import { urlWarnings } from './url-warnings.ts'

/** Ids of pages that were asked for and may still be told to be complete. */
const maxPages = 1_000

const handlerNames: ReadonlySet<string> = new Set(['elicit', 'elicitUrl', 'sample', 'countTokens', 'roots'])

/** Options that stand beside the handlers. */
const optionNames: ReadonlySet<string> = new Set(['tasks', 'samplesPerMinute'])

/** More fields than anybody fills in; a form of 2025-06-18 has one for each choice. */
const maxFields = 2_000

type Answer = (params: Params, asking: Asking) => Promise<ResultObject>

/** Answers what servers ask, whichever way the question came. */
export class InputHandlers {
  readonly #handlers: ClientHandlers
  /** What is declared to servers: it follows from the handlers, and from what the user adds. */
  readonly capabilities: ClientCapabilities
  /** By method, those that there is a handler for. */
  readonly methods: ReadonlyMap<string, Answer>
  readonly #pages = new Set<string>()
  readonly #sampleLimit: TokenBucket | undefined
  #roots: RootList | undefined

  constructor(handlers: ClientHandlers, given: ClientCapabilities) {
    for (const [name, handler] of Object.entries(handlers)) {
      if (optionNames.has(name)) continue
      const isHandler =
        handler === undefined || typeof handler === 'function' || (name === 'roots' && Array.isArray(handler))
      if (!isHandler || !handlerNames.has(name))
        throw new TypeError(`handlers.${name} is no handler; there are elicit, elicitUrl, sample, roots`)
    }
    this.#handlers = handlers
    this.#sampleLimit = toLimit(handlers.samplesPerMinute)
    this.capabilities = declare(handlers, given)
    if (Array.isArray(handlers.roots)) this.#roots = checkRoots(handlers.roots)
    const methods = new Map<string, Answer>()
    if (handlers.elicit || handlers.elicitUrl)
      methods.set('elicitation/create', (params, asking) => this.#elicit(params, asking))
    if (handlers.sample) methods.set('sampling/createMessage', (params, asking) => this.#sample(params, asking))
    if (handlers.roots) methods.set('roots/list', (_params, asking) => this.#listRoots(asking))
    this.methods = methods
  }

  /**
   * From now on these; throws on what is no folder of this machine, and when servers were not told that there are roots.
   * True when servers that remember the old ones must be told.
   */
  setRoots(roots: RootList): boolean {
    if (!this.#handlers.roots) {
      throw new McpError(
        'invalid-argument',
        'setRoots(): servers learn at the start that a client has roots; give handlers: { roots: [] } to the client',
      )
    }
    const checked = checkRoots(roots)
    const isNew = JSON.stringify(checked) !== JSON.stringify(this.#roots)
    this.#roots = checked
    return isNew && this.capabilities.roots?.listChanged === true
  }

  /** True once for each page that was asked for (2025-11-25 elicitation: others are ignored). */
  completed(elicitationId: string): boolean {
    return this.#pages.delete(elicitationId)
  }

  #elicit(params: Params, asking: Asking): Promise<ResultObject> {
    const question = params as unknown as ElicitParams
    return question.mode === 'url' ? this.#visit(question, asking) : this.#fillIn(question, asking)
  }

  async #fillIn({ message, requestedSchema }: ElicitFormParams, asking: Asking): Promise<ResultObject> {
    const { elicit } = this.#handlers
    if (!elicit) throw notDeclared('elicitation.form')
    if (Object.keys(requestedSchema.properties ?? {}).length > maxFields) {
      throw new ProtocolError(RpcCode.InvalidParams, `A form has at most ${maxFields} fields`)
    }
    const { action, content } = checkOutcome(await elicit({ message, requestedSchema }, asking))
    if (action !== 'accept') return { action }
    const filled = fillDefaults(requestedSchema, withoutUndefined(content))
    const problem = formProblem(requestedSchema, filled)
    if (problem === undefined) return { action, content: filled }
    throw new McpError('invalid-argument', `The handler elicit gave content that does not fit the form: ${problem}`)
  }

  async #visit({ message, url: address, elicitationId }: ElicitUrlParams, asking: Asking): Promise<ResultObject> {
    const { elicitUrl } = this.#handlers
    if (!elicitUrl) throw notDeclared('elicitation.url')
    const url = URL.canParse(address) ? new URL(address) : undefined
    if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
      throw new ProtocolError(RpcCode.InvalidParams, 'params.url must be an https: URL')
    }
    if (elicitationId !== undefined) this.#remember(elicitationId)
    const outcome = await elicitUrl({ message, url, elicitationId, warnings: urlWarnings(url) }, asking)
    return { action: checkOutcome(outcome).action }
  }

  /** Pages that an error names may be told to be complete as well (2025-11-25 elicitation, -32042). */
  noteRequired(error: unknown): void {
    if (!(error instanceof PeerError) || error.rpcCode !== RpcCode.UrlElicitationRequired) return
    const { elicitations } = (isObject(error.data) ? error.data : {}) as { elicitations?: unknown }
    if (!Array.isArray(elicitations)) return
    for (const page of elicitations.slice(0, maxPages)) {
      if (isObject(page) && typeof page.elicitationId === 'string') this.#remember(page.elicitationId)
    }
  }

  #remember(elicitationId: string): void {
    const [oldest] = this.#pages
    if (this.#pages.size >= maxPages) this.#pages.delete(oldest!)
    this.#pages.add(elicitationId)
  }

  async #sample(given: Params, asking: Asking): Promise<ResultObject> {
    const params = given as unknown as CreateMessageParams
    const hasTools = params.tools !== undefined || params.toolChoice !== undefined
    if (hasTools && !this.capabilities.sampling?.tools) throw notDeclared('sampling.tools')
    const problem = samplingProblem(params)
    if (problem !== undefined) throw new ProtocolError(RpcCode.InvalidParams, problem)
    const now = clock.now()
    if (this.#sampleLimit?.take(now) === false) throw tooOften(this.#sampleLimit.wait(now))
    const result = await this.#handlers.sample!(params, asking)
    const wrong = sampledProblem(result, params) ?? tokensProblem(result, params, this.#handlers.countTokens)
    if (wrong === undefined) return result as unknown as ResultObject
    throw new McpError('invalid-argument', `The handler sample returned an invalid message: ${wrong}`)
  }

  async #listRoots(asking: Asking): Promise<ResultObject> {
    const { roots } = this.#handlers
    const list: Root[] = checkRoots(this.#roots ?? (typeof roots === 'function' ? await roots(asking) : []))
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
    // Nobody can tell when what a function gives changes.
    ...(roots && { roots: { ...(Array.isArray(roots) && { listChanged: true }), ...given.roots } }),
  }
}

function withoutUndefined(content: ElicitOutcome['content']): ElicitContent {
  const given = Object.entries(content ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as ElicitContent
}

function checkOutcome(outcome: ElicitOutcome): ElicitOutcome {
  const action = isObject(outcome) ? outcome.action : undefined
  if (action === 'accept' || action === 'decline' || action === 'cancel') return outcome
  throw new McpError('invalid-argument', 'An elicitation is answered with { action: "accept", "decline" or "cancel" }')
}

/** 2025-11-25 elicitation, error handling; sampling, `tools`. */
function notDeclared(what: string): ProtocolError {
  return new ProtocolError(RpcCode.InvalidParams, `This client did not declare ${what}`)
}

/** Sampling costs the user money, so a server does not get it without end (2025-11-25 sampling, security considerations). */
function toLimit(perMinute: number | false = 120): TokenBucket | undefined {
  if (perMinute === false) return undefined
  if (typeof perMinute !== 'number' || !(perMinute > 0)) {
    throw new TypeError('handlers.samplesPerMinute must be a number above 0, or false for no limit')
  }
  return new TokenBucket(Math.max(1, perMinute), perMinute / 60, clock.now())
}

function tooOften(retryAfterMs: number): ProtocolError {
  const message = `Rate limit exceeded: try again in ${retryAfterMs} ms.`
  return new ProtocolError(-32_000, message, { error: 'rate_limited', retryAfterMs })
}
