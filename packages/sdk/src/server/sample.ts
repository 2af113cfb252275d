import type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
import { samplingProblem } from '../protocol/sampling-check.ts'
import type { AskOptions, Conversation } from '../replay/conversation.ts'

/** A message of the client's model. */
export interface SampledMessage extends CreateMessageResult {
  /** The text of all text blocks. */
  readonly text: string
}

/** Requests a completion from the client's model. */
export async function sample(
  conversation: Conversation,
  params: CreateMessageParams,
  options: AskOptions,
): Promise<SampledMessage> {
  checkSampling(params, 'sample()')
  const result = await conversation.ask({ method: 'sampling/createMessage', params }, options)
  const { content } = result as unknown as CreateMessageResult
  const text = [content].flat().flatMap((block) => (block.type === 'text' ? [block.text] : []))
  return { ...(result as unknown as CreateMessageResult), text: text.join('\n') }
}

/** Throws on invalid params, so that the author sees the error instead of the client. */
export function checkSampling(params: CreateMessageParams, where: string): void {
  const problem = samplingProblem(params)
  if (problem !== undefined) throw new TypeError(`${where}: ${problem}`)
}
