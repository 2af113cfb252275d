import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type { GetPromptParams, GetPromptResult, ListPromptsResult, Prompt } from '../../protocol/prompts.ts'
import type { ListCall } from '../list-call.ts'
import { invalidResult, type Requester } from '../requester.ts'
import type { Pages } from './pages.ts'
import { promptMessagesProblem } from './received-content.ts'

/** The prompts of the server. */
export class Prompts {
  readonly #requester: Requester
  readonly #pages: Pages

  constructor(requester: Requester, pages: Pages) {
    this.#requester = requester
    this.#pages = pages
  }

  list(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListPromptsResult, Prompt> {
    const source = {
      method: 'prompts/list' as const,
      member: 'prompts',
      require: () => this.#requester.require('prompts'),
      items: (page: ListPromptsResult) => page.prompts,
      withItems: (page: ListPromptsResult, prompts: Prompt[]) => ({ ...page, prompts }),
      filter: (prompts: Prompt[]) => this.#pages.withField(prompts, 'name'),
    }
    return this.#pages.list(source, params, options)
  }

  async get(params: GetPromptParams, options?: RequestOptions): Promise<GetPromptResult> {
    const missing = this.#requester.require('prompts')
    if (missing) await missing
    const result = await this.#requester.request('prompts/get', params, options)
    if (!Array.isArray(result.messages)) throw invalidResult('prompts/get', 'it has no messages')
    // A prompt without one of its messages may mean something else, so nothing of it is used.
    const problem = promptMessagesProblem(result.messages)
    if (problem !== undefined) throw invalidResult('prompts/get', problem)
    return result
  }
}
