import { isObject } from '../util/objects.ts'

/** What is wrong with a list of content blocks, or undefined: it begins with the place, such as `content[0].data`. */
export function contentListProblem(content: unknown): string | undefined {
  if (!Array.isArray(content)) return 'content must be a list of content blocks'
  for (let index = 0; index < content.length; index++) {
    const problem = blockProblem(content[index])
    if (problem !== undefined) return `content[${index}]${problem}`
  }
  return undefined
}

/** What is wrong with one content block of a tool or a prompt, or undefined: it begins with the field, such as `.data`. */
export function blockProblem(block: unknown): string | undefined {
  if (!isObject(block)) return ' must be an object such as { type: "text", text: "..." }'
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? undefined : `.text must be a string, not ${kindOf(block.text)}`
    case 'image':
    case 'audio':
      if (typeof block.mimeType !== 'string') return `.mimeType must be a string, not ${kindOf(block.mimeType)}`
      return base64Problem('.data', block.data)
    case 'resource_link':
      if (typeof block.uri !== 'string') return `.uri must be a string, not ${kindOf(block.uri)}`
      return typeof block.name === 'string' ? undefined : `.name must be a string, not ${kindOf(block.name)}`
    case 'resource': {
      const problem = contentsProblem(block.resource)
      return problem && `.resource${problem}`
    }
    default:
      return `.type must be "text", "image", "audio", "resource" or "resource_link", not ${JSON.stringify(block.type)}`
  }
}

/** What is wrong with the contents of a resource, or undefined. */
export function contentsProblem(contents: unknown): string | undefined {
  if (!isObject(contents)) return ' must be an object with a uri and text or blob'
  const { uri, text, blob } = contents
  if (typeof uri !== 'string') return `.uri must be a string, not ${kindOf(uri)}`
  if (blob !== undefined) return base64Problem('.blob', blob)
  return typeof text === 'string' ? undefined : `.text must be a string, not ${kindOf(text)}`
}

function base64Problem(field: string, value: unknown): string | undefined {
  if (typeof value === 'string') return undefined
  const wayOut = ArrayBuffer.isView(value) ? ". Encode the bytes, for example with buffer.toString('base64')" : ''
  return `${field} must be a base64 string, not ${kindOf(value)}${wayOut}`
}

/** Names a value for an error message, without its contents. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (ArrayBuffer.isView(value)) return value.constructor.name
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
