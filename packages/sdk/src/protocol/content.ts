import { isObject, type JsonObject } from '../util/objects.ts'
import type { Meta } from './meta.ts'
import type { Resource, ResourceContents } from './resources.ts'

/** The sender of a message, or the audience of content. */
export type Role = 'user' | 'assistant'

/** Hints about the audience and importance of content. */
export interface Annotations {
  audience?: Role[] | undefined
  /** From 0 (optional) to 1 (effectively required). */
  priority?: number | undefined
  /** ISO 8601. Since 2025-06-18. */
  lastModified?: string | undefined
}

/** A text block. */
export interface TextContent {
  type: 'text'
  text: string
  annotations?: Annotations
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** An image block. */
export interface ImageContent {
  type: 'image'
  /** Base64. */
  data: string
  mimeType: string
  annotations?: Annotations
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** An audio block. Since 2025-03-26. */
export interface AudioContent {
  type: 'audio'
  /** Base64. */
  data: string
  mimeType: string
  annotations?: Annotations
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** A link to a resource. Since 2025-06-18. */
export interface ResourceLink extends Resource {
  type: 'resource_link'
}

/** A block that contains a resource. */
export interface EmbeddedResource {
  type: 'resource'
  resource: ResourceContents
  annotations?: Annotations
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** Content of tool results and prompts. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/** Describes what is wrong with a list of content blocks, starting with a path such as `content[0].data`. */
export function contentListProblem(content: unknown): string | undefined {
  if (!Array.isArray(content)) return 'content must be a list of content blocks'
  for (let index = 0; index < content.length; index++) {
    const problem = blockProblem(content[index])
    if (problem !== undefined) return `content[${index}]${problem}`
  }
  return undefined
}

/** Describes what is wrong with one content block, starting with a field such as `.data`. */
export function blockProblem(block: unknown): string | undefined {
  if (!isObject(block)) return ' must be an object such as { type: "text", text: "..." }'
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? undefined : `.text must be a string, not ${describeType(block.text)}`
    case 'image':
    case 'audio':
      return mediaProblem(block)
    case 'resource_link':
      if (typeof block.uri !== 'string') return `.uri must be a string, not ${describeType(block.uri)}`
      return typeof block.name === 'string' ? undefined : `.name must be a string, not ${describeType(block.name)}`
    case 'resource': {
      const problem = contentsProblem(block.resource)
      return problem && `.resource${problem}`
    }
    default:
      return `.type must be "text", "image", "audio", "resource" or "resource_link", not ${JSON.stringify(block.type)}`
  }
}

/** Describes what is wrong with the contents of a resource, or returns undefined. */
export function contentsProblem(contents: unknown): string | undefined {
  if (!isObject(contents)) return ' must be an object with a uri and text or blob'
  const { uri, text, blob, mimeType } = contents
  if (typeof uri !== 'string') return `.uri must be a string, not ${describeType(uri)}`
  const problem = mimeType === undefined ? undefined : mimeTypeProblem(mimeType)
  if (problem !== undefined) return problem
  if (blob !== undefined) return base64Problem('.blob', blob)
  return typeof text === 'string' ? undefined : `.text must be a string, not ${describeType(text)}`
}

/** Describes what is wrong with an image or audio block, or returns undefined. */
export function mediaProblem({ mimeType, data }: JsonObject): string | undefined {
  return base64Problem('.data', data) ?? mimeTypeProblem(mimeType)
}

function mimeTypeProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return `.mimeType must be a string, not ${describeType(value)}`
  if (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+ *(;|$)/.test(value)) return undefined
  return `.mimeType must be a MIME type such as "image/png", not ${JSON.stringify(value.slice(0, 100))}`
}

/** Decoding in pieces keeps large images from being in memory twice. */
const pieceLength = 65_536

function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  let bytes = 0
  try {
    // `atob` is native code, several times faster than a regular expression. It skips whitespace, which the length reveals.
    for (let at = 0; at < text.length; at += pieceLength) bytes += atob(text.slice(at, at + pieceLength)).length
  } catch {
    return false
  }
  return text.length % 4 === 0 && bytes === (text.length / 4) * 3 - padding
}

function base64Problem(field: string, value: unknown): string | undefined {
  if (typeof value === 'string' && isBase64(value)) return undefined
  const isText = typeof value === 'string'
  const problem = isText ? 'is not valid base64' : `must be a base64 string, not ${describeType(value)}`
  const wayOut =
    isText || ArrayBuffer.isView(value) ? ". Encode the bytes, for example with buffer.toString('base64')" : ''
  return `${field} ${problem}${wayOut}`
}

/** Names the type of a value for an error message, without revealing the value. */
export function describeType(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (ArrayBuffer.isView(value)) return value.constructor.name
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Describes what is wrong with annotations, or returns undefined (2025-06-18 resources, annotations). */
export function annotationsProblem({ audience, priority, lastModified }: Annotations): string | undefined {
  const isAudience = (value: unknown) => value === 'user' || value === 'assistant'
  if (audience !== undefined && !(Array.isArray(audience) && audience.every(isAudience))) {
    return "annotations.audience must be a list of 'user' and 'assistant'"
  }
  if (priority !== undefined && !(priority >= 0 && priority <= 1)) return 'annotations.priority must be between 0 and 1'
  if (lastModified !== undefined && !isIsoDate(lastModified)) return 'annotations.lastModified must be an ISO 8601 date'
  return undefined
}

function isIsoDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d)?)?$/.test(text) && !Number.isNaN(Date.parse(text))
}
