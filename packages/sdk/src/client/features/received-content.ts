import { isObject } from '../../util/objects.ts'

/** Describes what is wrong with a content block, or returns undefined. Unknown types may come from later revisions. */
export function receivedBlockProblem(block: unknown): string | undefined {
  if (!isObject(block) || typeof block.type !== 'string') return 'a block has no type'
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? undefined : 'a text block has no text'
    case 'image':
    case 'audio':
      if (typeof block.data !== 'string') return `an ${block.type} block has no data`
      return typeof block.mimeType === 'string' ? undefined : `an ${block.type} block has no mimeType`
    case 'resource_link':
      return typeof block.uri === 'string' ? undefined : 'a resource_link block has no uri'
    case 'resource':
      return isObject(block.resource) && typeof block.resource.uri === 'string'
        ? undefined
        : 'a resource block has no resource with a uri'
    default:
      return undefined
  }
}

/** Describes what is wrong with the messages of a prompt, or returns undefined. */
export function promptMessagesProblem(messages: readonly unknown[]): string | undefined {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    if (!isObject(message)) return `messages[${index}] is not an object`
    // A model gives other roles, such as "system", more weight than a server may have.
    if (message.role !== 'user' && message.role !== 'assistant')
      return `messages[${index}].role is not "user" or "assistant"`
    const problem = receivedBlockProblem(message.content)
    if (problem !== undefined) return `messages[${index}].content: ${problem}`
  }
  return undefined
}
