import type { JsonObject, RpcRequest } from 'tenon'
import { isObject } from 'tenon/internal'

/** Requests that change nothing, or that have the same effect when they are sent twice. */
const safeMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'subscriptions/listen',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
])

/** Knows which requests can be sent to the next process if their own was stopped before it answered. */
export class SafeRequests {
  readonly #readOnlyTools = new Set<string>()

  /** Whether a request can be repeated. A tool call can if the server says that the tool only reads. */
  includes({ method, params }: RpcRequest): boolean {
    if (method === 'tools/call') return this.#readOnlyTools.has(String(params?.name))
    return safeMethods.has(method)
  }

  /** Remembers the tools of a list. The annotations are those of the author's own server, so they are trusted. */
  learnTools({ tools }: JsonObject): void {
    if (!Array.isArray(tools)) return
    for (const tool of tools) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue
      const isReadOnly = isObject(tool.annotations) && tool.annotations.readOnlyHint === true
      if (isReadOnly) this.#readOnlyTools.add(tool.name)
      else this.#readOnlyTools.delete(tool.name)
    }
  }
}
