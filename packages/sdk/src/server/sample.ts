import type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
import { samplingProblem } from '../protocol/sampling-check.ts'
import type { AskOptions, Conversation } from '../replay/conversation.ts'

/** What the client's model wrote. */
export interface SampledMessage extends CreateMessageResult {
  /** All text of it. */
  readonly text: string
}

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

/** Fails where the author can see it, rather than at the client. */
export function checkSampling(params: CreateMessageParams, where: string): void {
  const problem = samplingProblem(params)
  if (problem !== undefined) throw new TypeError(`${where}: ${problem}`)
}
