import type { CallOptions } from '../../era/client.ts'
import { PeerError, RpcCode } from '../../errors.ts'
import type { CallToolParams, CallToolResult, ToolExecution } from '../../protocol/tools.ts'
import type { CachedRequests } from '../cached-requests.ts'
import type { Requester } from '../requester.ts'
import type { ToolCatalog } from './tool-catalog.ts'

export interface ToolCallsOptions {
  readonly catalog: ToolCatalog
  readonly requester: Requester
  readonly cached: CachedRequests
  /** Whether annotated arguments are repeated in HTTP headers. */
  mirrorsArguments(): boolean
}

/** Limits how many pages are read to find one tool. */
const maxToolPages = 1_000

/** Sends `tools/call` with the headers that the tool requires, and looks up tools that are not known yet. */
export class ToolCalls {
  readonly #options: ToolCallsOptions

  constructor(options: ToolCallsOptions) {
    this.#options = options
  }

  async call(params: CallToolParams, options: CallOptions | undefined): Promise<CallToolResult> {
    const { catalog, mirrorsArguments } = this.#options
    const headers = mirrorsArguments() ? catalog.headersOf(params) : undefined
    try {
      return await this.#send(headers, params, options)
    } catch (error) {
      const isMismatch = error instanceof PeerError && error.rpcCode === RpcCode.HeaderMismatch
      if (!isMismatch || !mirrorsArguments()) throw error
      // 2026-07-28 streamable-http, client behaviour: the tool may require other headers than when it was listed.
      await this.#readList(params.name)
      const fresh = catalog.headersOf(params)
      if (JSON.stringify(fresh) === JSON.stringify(headers)) throw error
      return this.#send(fresh, params, options)
    }
  }

  /** Whether the tool can, must or must not be called as a task (2025-11-25 tools, `execution`). */
  async taskSupport(name: string): Promise<NonNullable<ToolExecution['taskSupport']>> {
    const { catalog } = this.#options
    if (!catalog.isKnown(name)) await this.#lookUp(name)
    return catalog.taskSupport(name)
  }

  /** Whether the server says that repeating a call has no further effect. */
  async isIdempotent(name: string): Promise<boolean> {
    const { catalog } = this.#options
    if (!catalog.isKnown(name)) await this.#lookUp(name)
    return catalog.isIdempotent(name)
  }

  /**
   * Checks structured content against the output schema of the tool. If the server announced that its tools changed, the
   * schema is read again before a result is rejected. Returns undefined if there is nothing to wait for.
   */
  checkOutput(name: string, result: Pick<CallToolResult, 'isError' | 'structuredContent'>): Promise<void> | undefined {
    const { catalog } = this.#options
    try {
      catalog.checkOutput(name, result)
      return undefined
    } catch (error) {
      if (catalog.isKnown(name)) throw error
      return this.#lookUp(name).then(() => catalog.checkOutput(name, result))
    }
  }

  async #lookUp(name: string): Promise<void> {
    // A server that cannot list its tools may still run them.
    await this.#readList(name).catch(() => {})
    this.#options.catalog.noteMissing(name)
  }

  #send(
    headers: Record<string, string> | undefined,
    params: CallToolParams,
    options: CallOptions | undefined,
  ): Promise<CallToolResult> {
    return this.#options.requester.call('tools/call', params, headers ? { ...options, headers } : options)
  }

  /** Reads the list of tools from the server, up to the page with this tool. */
  async #readList(name: string): Promise<void> {
    const { catalog, requester, cached } = this.#options
    cached.forget((method) => method === 'tools/list')
    let cursor: string | undefined
    for (let page = 0; page < maxToolPages; page++) {
      const result = await requester.call('tools/list', cursor === undefined ? {} : { cursor })
      const tools = Array.isArray(result.tools) ? catalog.read(result.tools) : []
      cursor = result.nextCursor
      if (typeof cursor !== 'string' || tools.some((tool) => tool.name === name)) return
    }
  }
}
