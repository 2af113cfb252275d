import { ProtocolError } from '../errors.ts'
import type { ContentBlock } from '../protocol/content.ts'
import type { CreateMessageParams, SamplingContent } from '../protocol/sampling.ts'
import { clock } from '../util/clock.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import type { ModelAnswer } from './models/model.ts'

/** What a server may use. Sampling costs money, and the server decides how much it asks for. */
export interface SamplingBudget {
  /** Requests per minute. Default 10. */
  requestsPerMinute?: number | undefined
  /** Requests at the same time, including those that wait for the user. Default 2. */
  maxConcurrent?: number | undefined
  /** `maxTokens` of a request is capped at this. Default 4,096. */
  maxTokensPerRequest?: number | undefined
  /** Input and output tokens per day (UTC). Default 200,000. */
  tokensPerDay?: number | undefined
}

/** What a server used. */
export interface SamplingUsage {
  /** Input and output tokens of this day, including what running requests have reserved. */
  readonly tokensToday: number
  readonly tokensPerDay: number
  /** Requests that are running or wait for the user. */
  readonly running: number
}

/** What a request has cost. */
export interface SettledTokens {
  readonly inputTokens: number
  readonly outputTokens: number
  /** The model did not say, or the request failed. */
  readonly isEstimated: boolean
}

/** A budget with all of its limits. */
export type SamplingLimits = Readonly<Record<keyof SamplingBudget, number>>

/** Adds the default limits. Throws if a limit is not greater than 0. */
export function toLimits(budget: SamplingBudget = {}): SamplingLimits {
  const { requestsPerMinute = 10, maxConcurrent = 2, maxTokensPerRequest = 4_096, tokensPerDay = 200_000 } = budget
  const limits = { requestsPerMinute, maxConcurrent, maxTokensPerRequest, tokensPerDay }
  for (const [name, limit] of Object.entries(limits)) {
    if (!(limit > 0)) throw new TypeError(`The sampling budget "${name}" must be greater than 0`)
  }
  return limits
}

const dayMs = 86_400_000

/** Keeps the budget of one server. */
export class SamplingAccount {
  readonly #server: string
  readonly #limits: SamplingLimits
  readonly #rate: TokenBucket
  #running = 0
  #day = 0
  #tokens = 0

  constructor(server: string, limits: SamplingLimits) {
    const { requestsPerMinute } = limits
    this.#server = server
    this.#limits = limits
    this.#rate = new TokenBucket(Math.max(1, requestsPerMinute), requestsPerMinute / 60, clock.now())
  }

  /**
   * Begins a request.
   * @returns Ends it.
   */
  enter(): () => void {
    const { maxConcurrent, requestsPerMinute } = this.#limits
    const now = clock.now()
    if (this.#running >= maxConcurrent) throw this.#exceeded(`at most ${maxConcurrent} sampling requests at a time`)
    if (!this.#rate.take(now)) {
      throw this.#exceeded(`at most ${requestsPerMinute} sampling requests per minute`, this.#rate.wait(now))
    }
    this.#running++
    return () => {
      this.#running--
    }
  }

  /** Caps `maxTokens` at what the server may use. */
  cap(params: CreateMessageParams): CreateMessageParams {
    const { maxTokensPerRequest, tokensPerDay } = this.#limits
    const left = Math.floor(tokensPerDay - this.#today() - estimateInput(params))
    if (left < 1) {
      throw this.#exceeded(`at most ${tokensPerDay} tokens per day`, dayMs - (clock.now() % dayMs))
    }
    return { ...params, maxTokens: Math.min(params.maxTokens, maxTokensPerRequest, left) }
  }

  /**
   * Takes the tokens that a request can use at most from the budget.
   * @returns Replaces them by what it did use, or keeps them if there is no answer.
   */
  reserve(params: CreateMessageParams): (answer: ModelAnswer | undefined) => SettledTokens {
    const reserved = { inputTokens: estimateInput(params), outputTokens: params.maxTokens, isEstimated: true }
    this.#today()
    this.#tokens += reserved.inputTokens + reserved.outputTokens
    const day = this.#day
    return (answer) => {
      const used = answer ? usedTokens(answer, reserved.inputTokens) : reserved
      const difference = used.inputTokens + used.outputTokens - reserved.inputTokens - reserved.outputTokens
      if (this.#today() >= 0 && this.#day === day) this.#tokens += difference
      return used
    }
  }

  usage(): SamplingUsage {
    return { tokensToday: this.#today(), tokensPerDay: this.#limits.tokensPerDay, running: this.#running }
  }

  /** The tokens of this day. A clock that was set back does not begin a new one. */
  #today(): number {
    const day = Math.floor(clock.now() / dayMs)
    if (day > this.#day) {
      this.#day = day
      this.#tokens = 0
    }
    return this.#tokens
  }

  #exceeded(limit: string, retryAfterMs?: number): ProtocolError {
    const later = retryAfterMs === undefined ? 'Try again when one has ended.' : `Try again in ${retryAfterMs} ms.`
    const message = `Sampling limit reached: the server ${JSON.stringify(this.#server)} may use ${limit}. ${later}`
    return new ProtocolError(-32_000, message, {
      error: 'rate_limited',
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    })
  }
}

function usedTokens({ usage, content }: ModelAnswer, estimatedInput: number): SettledTokens {
  if (usage) return { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens, isEstimated: false }
  const blocks = Array.isArray(content) ? content : [content]
  const outputTokens = blocks.reduce((sum, block) => sum + estimateBlock(block), 0)
  return { inputTokens: estimatedInput, outputTokens, isEstimated: true }
}

/** Estimates on the safe side: most languages have more characters per token. */
const charactersPerToken = 3

/** About what an image of the largest size that models look at costs. */
const tokensPerImage = 1_600

function estimateInput({ messages, systemPrompt = '', tools = [] }: CreateMessageParams): number {
  const blocks = messages.flatMap(({ content }) => content)
  const texts = systemPrompt.length + (tools.length > 0 ? JSON.stringify(tools).length : 0)
  return blocks.reduce((sum, block) => sum + estimateBlock(block), Math.ceil(texts / charactersPerToken))
}

function estimateBlock(block: SamplingContent | ContentBlock): number {
  switch (block.type) {
    case 'text':
      return Math.ceil(block.text.length / charactersPerToken)
    case 'image':
      return tokensPerImage
    case 'audio':
      // An hour of speech as MP3 has about 30 MB and 36,000 tokens.
      return Math.ceil(block.data.length / 1_000)
    case 'tool_result': {
      const structured = JSON.stringify(block.structuredContent ?? '').length
      const parts = block.content.reduce((sum, part) => sum + estimateBlock(part), 0)
      return parts + Math.ceil(structured / charactersPerToken)
    }
    default:
      return Math.ceil(JSON.stringify(block).length / charactersPerToken)
  }
}
