import { CapabilityError, ProtocolError, RpcCode } from '../errors.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import type { ClientCapabilities } from '../protocol/capabilities.ts'
import type { InputRequest, InputRequiredResult } from '../protocol/input.ts'
import { sampledProblem } from '../protocol/sampling-check.ts'
import { isObject, omit } from '../util/objects.ts'
import { warnOnce } from '../util/warn.ts'
import type { Caller } from './server.ts'

/** What a client can be asked for. */
export type Askable = 'elicit' | 'elicitUrl' | 'sample' | 'sampleTools' | 'roots'

/** Requests that may be answered with questions instead of a result (2026-07-28 mrtr, supported requests). */
export const interactive: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** What may be asked (2026-07-28 mrtr, input requests). */
export const questionMethods: ReadonlySet<unknown> = new Set<InputRequest['method']>([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
])

export function isInputRequired(result: unknown): result is ResultObject & InputRequiredResult {
  return isObject(result) && result.resultType === 'input_required'
}

/** Whether the client can be asked: it said so, and its revision has the question. */
export function canAsk(caller: Caller, what: Askable): boolean {
  const { rules, capabilities } = caller
  if (!caller.answers) return false
  if (what === 'roots') return isObject(capabilities.roots)
  if (what === 'sample') return isObject(capabilities.sampling)
  if (what === 'sampleTools') return rules.asks.includes('tools') && isObject(capabilities.sampling?.tools)
  const { elicitation } = capabilities
  if (!isObject(elicitation)) return false
  if (what === 'elicitUrl') return rules.asks.includes('url') && isObject(elicitation.url)
  // 2025-11-25 elicitation: a client that names no mode has forms.
  return rules.asks.includes('form') && (isObject(elicitation.form) || !isObject(elicitation.url))
}

/** Throws what tells the handler, and the client, that this cannot be asked. */
export function checkAskable(caller: Caller, question: InputRequest): void {
  if (!questionMethods.has(question.method)) {
    throw new TypeError(`Clients are asked ${[...questionMethods].join(', ')}, not ${JSON.stringify(question.method)}`)
  }
  const what = askableOf(question)
  if (canAsk(caller, what)) return
  throw new CapabilityError(what, reason(caller, what), required[what] as Record<string, object>)
}

function askableOf({ method, params }: InputRequest): Askable {
  if (method === 'roots/list') return 'roots'
  if (method === 'elicitation/create') return params.mode === 'url' ? 'elicitUrl' : 'elicit'
  return params.tools || params.toolChoice ? 'sampleTools' : 'sample'
}

const required: Readonly<Record<Askable, ClientCapabilities>> = {
  elicit: { elicitation: { form: {} } },
  elicitUrl: { elicitation: { url: {} } },
  sample: { sampling: {} },
  sampleTools: { sampling: { tools: {} } },
  roots: { roots: {} },
}

const words: Readonly<Record<Askable, string>> = {
  elicit: 'fill in a form',
  elicitUrl: 'visit a URL',
  sample: 'sample a model',
  sampleTools: 'sample a model with tools',
  roots: 'list its roots',
}

function reason(caller: Caller, what: Askable): string {
  const asked = `The client cannot be asked to ${words[what]}`
  if (!caller.answers) {
    return `${asked}: this server keeps no sessions for clients of ${caller.revision}, so nothing can be asked of them`
  }
  if (!isKnown(caller, what)) return `${asked}: ${caller.revision} does not have that`
  return `${asked}: it did not declare ${JSON.stringify(required[what])}`
}

function isKnown({ rules }: Caller, what: Askable): boolean {
  if (what === 'elicit') return rules.asks.includes('form')
  if (what === 'elicitUrl') return rules.asks.includes('url')
  return what !== 'sampleTools' || rules.asks.includes('tools')
}

/**
 * What an answer was given to: the words and the fields that a user was shown, and the host of a page, whose URL may have a
 * fresh secret in it each time; or what a model was given. An answer is good for nothing else.
 */
export function topicOf({ method, params }: InputRequest): string {
  if (method === 'roots/list') return method
  if (method === 'sampling/createMessage') {
    return JSON.stringify([method, params.messages, params.systemPrompt ?? null, params.tools ?? null])
  }
  const shown = params.mode === 'url' ? new URL(params.url).host : params.requestedSchema
  return JSON.stringify([method, params.message, shown])
}

/** What is wrong with the form of an answer, or undefined. */
export function answerProblem(question: InputRequest, answer: unknown): string | undefined {
  if (!isObject(answer)) return 'must be an object'
  if (question.method === 'elicitation/create') return elicitProblem(answer)
  if (question.method === 'roots/list') return rootsProblem(answer)
  return sampledProblem(answer as never, question.params)
}

function elicitProblem({ action, content }: ResultObject): string | undefined {
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    return 'action must be "accept", "decline" or "cancel"'
  }
  if (content === undefined) return undefined
  if (!isObject(content)) return 'content must be an object'
  return Object.values(content).every(isFieldValue) ? undefined : 'content holds something that no form can'
}

function isFieldValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string')
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function rootsProblem({ roots }: ResultObject): string | undefined {
  if (!Array.isArray(roots)) return 'roots must be a list'
  return roots.every(
    (root) =>
      isObject(root) && typeof root.uri === 'string' && (root.name === undefined || typeof root.name === 'string'),
  )
    ? undefined
    : 'a root has no uri, or a name that is no text'
}

/** 2025-11-25 sampling: context of servers is for clients that declared it; without, a client would not know what is meant. */
export function withDeclaredContext({ rules, capabilities }: Caller, question: InputRequest): InputRequest {
  if (question.method !== 'sampling/createMessage') return question
  const { includeContext = 'none' } = question.params
  if (includeContext === 'none' || !rules.asks.includes('tools') || isObject(capabilities.sampling?.context))
    return question
  warnOnce(
    'include-context',
    `sample(): includeContext ${includeContext} is left out: the client did not declare sampling.context`,
  )
  return { ...question, params: omit(question.params, ['includeContext']) }
}

export function tooManyRounds(maxRounds: number): ProtocolError {
  return new ProtocolError(RpcCode.InternalError, `The request asked the client more than ${maxRounds} times`)
}

/** 2026-07-28 mrtr: a result that asks has questions, state or both. */
export function nothingAsked(): TypeError {
  return new TypeError('A handler returned a result of the type input_required that asks nothing and keeps nothing')
}

/** An answer that nobody waits for decides nothing, whatever the user says. */
export function warnOpen(method: string, keys: Iterable<string>): void {
  const names = [...keys].map((key) => JSON.stringify(key)).join(', ')
  warnOnce(
    `open ${method}`,
    `A handler of ${method} returned while its question ${names} was open. Is an await missing, or was the error caught that goes through the handler?`,
  )
}
