import { CapabilityError } from '../errors.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import { isObject, omit } from '../util/objects.ts'
import { warnOnce } from '../util/warn.ts'
import type { Caller } from './caller.ts'
import type { ClientCapabilities } from './capabilities.ts'
import { formProblem, valueProblem } from './form.ts'
import type { InputRequest, InputRequiredResult } from './input.ts'
import { sampledProblem } from './sampling-check.ts'

/** The kinds of questions that a server can ask a client. */
export type Askable = 'elicit' | 'elicitUrl' | 'sample' | 'sampleTools' | 'roots'

/** Requests that may be answered with `input_required` (2026-07-28 mrtr, supported requests). */
export const multiRoundTripMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Methods of the questions in `inputRequests` (2026-07-28 mrtr, input requests). */
export const inputRequestMethods: ReadonlySet<unknown> = new Set<InputRequest['method']>([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
])

export function isInputRequired(result: unknown): result is ResultObject & InputRequiredResult {
  return isObject(result) && result.resultType === 'input_required'
}

/** Whether the client declared the capability, and its revision has it. */
export function canAsk(caller: Caller, what: Askable): boolean {
  const { rules, capabilities } = caller
  if (!caller.canAnswer) return false
  if (what === 'roots') return isObject(capabilities.roots)
  if (what === 'sample') return isObject(capabilities.sampling)
  if (what === 'sampleTools') return rules.asks.includes('tools') && isObject(capabilities.sampling?.tools)
  const { elicitation } = capabilities
  if (!isObject(elicitation)) return false
  if (what === 'elicitUrl') return rules.asks.includes('url') && isObject(elicitation.url)
  // 2025-11-25 elicitation: a client that declares no mode supports forms.
  return rules.asks.includes('form') && (isObject(elicitation.form) || !isObject(elicitation.url))
}

/** Throws if the client cannot be asked this question. */
export function checkAskable(caller: Caller, question: InputRequest): void {
  if (!inputRequestMethods.has(question.method)) {
    const known = [...inputRequestMethods].join(', ')
    throw new TypeError(`A client cannot be asked ${JSON.stringify(question.method)}. Use one of: ${known}.`)
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

const descriptions: Readonly<Record<Askable, string>> = {
  elicit: 'fill in a form',
  elicitUrl: 'visit a URL',
  sample: 'sample a model',
  sampleTools: 'sample a model with tools',
  roots: 'list its roots',
}

function reason(caller: Caller, what: Askable): string {
  const asked = `The client cannot be asked to ${descriptions[what]}`
  if (!caller.canAnswer) {
    return `${asked}: this server keeps no sessions, and ${caller.revision} clients can only answer in a session`
  }
  if (!isInRevision(caller, what)) return `${asked}: revision ${caller.revision} does not support it`
  return `${asked}: it did not declare ${JSON.stringify(required[what])}`
}

function isInRevision({ rules }: Caller, what: Askable): boolean {
  if (what === 'elicit') return rules.asks.includes('form')
  if (what === 'elicitUrl') return rules.asks.includes('url')
  return what !== 'sampleTools' || rules.asks.includes('tools')
}

/** Drops `includeContext` for clients that did not declare `sampling.context` (2025-11-25 sampling). */
export function withDeclaredContext({ rules, capabilities }: Caller, question: InputRequest): InputRequest {
  if (question.method !== 'sampling/createMessage') return question
  const { includeContext = 'none' } = question.params
  if (includeContext === 'none' || !rules.asks.includes('tools') || isObject(capabilities.sampling?.context))
    return question
  warnOnce(
    'include-context',
    `sample(): includeContext ${includeContext} is dropped because the client did not declare sampling.context`,
  )
  return { ...question, params: omit(question.params, ['includeContext']) }
}

/** Describes what is wrong with an answer, including the content of a form; undefined if nothing is. */
export function answerProblem(question: InputRequest, answer: unknown): string | undefined {
  return answerShapeProblem(question, answer) ?? formAnswerProblem(question, answer as ResultObject)
}

/** As `answerProblem`, but without a look at the fields of a form. */
export function answerShapeProblem(question: InputRequest, answer: unknown): string | undefined {
  if (!isObject(answer)) return 'must be an object'
  if (question.method === 'elicitation/create') return elicitProblem(answer)
  if (question.method === 'roots/list') return rootsProblem(answer)
  return sampledProblem(answer as never, question.params)
}

/** Checks the content of an accepted form against the form. */
export function formAnswerProblem(
  { method, params }: InputRequest,
  { action, content }: ResultObject,
): string | undefined {
  if (method !== 'elicitation/create' || params.mode === 'url' || action !== 'accept') return undefined
  return formProblem(params.requestedSchema, content ?? {})
}

function elicitProblem({ action, content }: ResultObject): string | undefined {
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    return 'action must be "accept", "decline" or "cancel"'
  }
  if (content === undefined) return undefined
  if (!isObject(content)) return 'content must be an object'
  const problem = Object.values(content).map(valueProblem).find(Boolean)
  return problem && `each value in content ${problem}`
}

function rootsProblem({ roots }: ResultObject): string | undefined {
  if (!Array.isArray(roots)) return 'roots must be an array'
  return roots.every(
    (root) =>
      isObject(root) && typeof root.uri === 'string' && (root.name === undefined || typeof root.name === 'string'),
  )
    ? undefined
    : 'each root must have a uri, and its name must be a string'
}
