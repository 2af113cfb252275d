import { isObject, type JsonObject, omit } from '../../util/objects.ts'
import type { Step } from '../revision.ts'

/** Changes every item of a list inside a body. */
export function mapItems(body: JsonObject, list: string, change: Step): JsonObject {
  const items = body[list]
  return Array.isArray(items) ? { ...body, [list]: items.map(change) } : body
}

/** Removes fields from every item of a list. */
export function withoutFields(list: string, fields: readonly string[]): Step {
  return (body) => mapItems(body, list, (item) => omit(item, fields))
}

/** Removes members from a capability object. */
export function withoutMembers(capabilities: unknown, members: readonly string[]): JsonObject {
  return isObject(capabilities) ? omit(capabilities, members) : {}
}

/** Changes the content blocks of a tool result. Returns the same object if no block changes. */
export function mapToolContent(result: JsonObject, change: Step): JsonObject {
  const content = result.content as JsonObject[]
  if (!Array.isArray(content)) return result
  const changed = content.map(change)
  return changed.every((block, index) => block === content[index]) ? result : { ...result, content: changed }
}

/** A text block in the place of a block that the revision does not have. Who it is for stays the same. */
export function asText({ annotations }: JsonObject, text: string): JsonObject {
  return { type: 'text', text, ...(annotations !== undefined && { annotations }) }
}

/** Changes the content block of every prompt message. */
export function mapContents(result: JsonObject, change: Step): JsonObject {
  return mapItems(result, 'messages', (message) => ({ ...message, content: change(message.content as JsonObject) }))
}
