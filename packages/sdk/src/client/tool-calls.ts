import type { CallOptions } from '../era/client.ts'
import { PeerError, RpcCode } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { CallToolParams, CallToolResult, ToolExecution } from '../protocol/tools.ts'
import type { ToolCatalog } from './tool-catalog.ts'

export interface ToolCallsOptions {
  readonly tools: ToolCatalog
  call(method: string, params: Params, options: CallOptions | undefined): Promise<ResultObject>
  /** True where a tool's annotated arguments are repeated in headers. */
  mirrorsArguments(): boolean
  /** What was kept of the list of tools is no longer good. */
  forgetList(): void
}

/** More pages of tools than are worth reading to find one. */
const maxToolPages = 1_000

/** Single calls of tools, with what the server wants to be said along with them. */
export class ToolCalls {
  readonly #options: ToolCallsOptions

  constructor(options: ToolCallsOptions) {
    this.#options = options
  }

  async call(params: CallToolParams, options: CallOptions | undefined): Promise<ResultObject> {
    const { tools, mirrorsArguments } = this.#options
    const headers = mirrorsArguments() ? tools.headersOf(params) : undefined
    try {
      return await this.#callWith(headers, params, options)
    } catch (error) {
      const isMismatch = error instanceof PeerError && error.rpcCode === RpcCode.HeaderMismatch
      if (!isMismatch || !mirrorsArguments()) throw error
      // 2026-07-28 streamable-http, client behaviour: the tool may want other headers than when it was listed.
      await this.#learn(params.name)
      const fresh = tools.headersOf(params)
      if (JSON.stringify(fresh) === JSON.stringify(headers)) throw error
      return this.#callWith(fresh, params, options)
    }
  }

  /** Whether the tool may, must or must not be called as a task (2025-11-25 tools, `execution`). */
  async taskSupport(name: string): Promise<NonNullable<ToolExecution['taskSupport']>> {
    const { tools } = this.#options
    if (!tools.isKnown(name)) await this.#lookUp(name)
    return tools.taskSupport(name)
  }

  /** Whether the server says that a second call does no more than the first. */
  async isIdempotent(name: string): Promise<boolean> {
    const { tools } = this.#options
    if (!tools.isKnown(name)) await this.#lookUp(name)
    return tools.isIdempotent(name)
  }

  /**
   * Checks structured content against the tool's schema. If the server announced that its tools changed, the schema is read again
   * before a result is refused. Undefined: it fits, and there is nothing to wait for.
   */
  checkOutput(name: string, result: CallToolResult): Promise<void> | undefined {
    const { tools } = this.#options
    try {
      tools.checkOutput(name, result)
      return undefined
    } catch (error) {
      if (tools.isKnown(name)) throw error
      return this.#lookUp(name).then(() => tools.checkOutput(name, result))
    }
  }

  async #lookUp(name: string): Promise<void> {
    // Whoever cannot list its tools may still be called.
    await this.#learn(name).catch(() => {})
    this.#options.tools.noteMissing(name)
  }

  #callWith(
    headers: Record<string, string> | undefined,
    params: CallToolParams,
    options: CallOptions | undefined,
  ): Promise<ResultObject> {
    return this.#options.call('tools/call', params as unknown as Params, headers ? { ...options, headers } : options)
  }

  /** Reads the list of tools anew, as far as this tool. */
  async #learn(name: string): Promise<void> {
    this.#options.forgetList()
    let cursor: unknown
    for (let page = 0; page < maxToolPages; page++) {
      const result = await this.#options.call('tools/list', cursor === undefined ? {} : { cursor }, undefined)
      const tools = Array.isArray(result.tools) ? this.#options.tools.read(result.tools) : []
      cursor = result.nextCursor
      if (typeof cursor !== 'string' || tools.some((tool) => tool.name === name)) return
    }
  }
}
