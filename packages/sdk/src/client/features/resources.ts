import type { CallOptions } from '../../era/client.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceParams,
  ReadResourceResult,
  Resource,
  ResourceTemplateInfo,
} from '../../protocol/resources.ts'
import type { ListCall } from '../list-call.ts'
import { inExchange, invalidResult, type Requester } from '../requester.ts'
import type { CachedRequests } from '../response-cache.ts'
import type { Pages } from './pages.ts'

/** The resources of the server. */
export class Resources {
  readonly #requester: Requester
  readonly #cached: CachedRequests
  readonly #pages: Pages

  constructor(requester: Requester, cached: CachedRequests, pages: Pages) {
    this.#requester = requester
    this.#cached = cached
    this.#pages = pages
  }

  list(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListResourcesResult, Resource> {
    const source = {
      method: 'resources/list' as const,
      member: 'resources',
      require: () => this.#requester.require('resources'),
      items: (page: ListResourcesResult) => page.resources,
      withItems: (page: ListResourcesResult, resources: Resource[]) => ({ ...page, resources }),
      filter: (resources: Resource[]) => this.#pages.withField(resources, 'uri'),
    }
    return this.#pages.list(source, params, options)
  }

  listTemplates(
    params?: { cursor?: string },
    options?: RequestOptions,
  ): ListCall<ListResourceTemplatesResult, ResourceTemplateInfo> {
    const source = {
      method: 'resources/templates/list' as const,
      member: 'resourceTemplates',
      require: () => this.#requester.require('resources'),
      items: (page: ListResourceTemplatesResult) => page.resourceTemplates,
      withItems: (page: ListResourceTemplatesResult, resourceTemplates: ResourceTemplateInfo[]) => ({
        ...page,
        resourceTemplates,
      }),
      filter: (templates: ResourceTemplateInfo[]) => this.#pages.withField(templates, 'uriTemplate'),
    }
    return this.#pages.list(source, params, options)
  }

  async read(params: ReadResourceParams, options?: CallOptions): Promise<ReadResourceResult> {
    const missing = this.#requester.require('resources')
    if (missing) await missing
    const first = await inExchange(options, () => this.#cached.call('resources/read', params, options))
    const result = await this.#requester.complete(first, 'resources/read', params, options, (next) =>
      inExchange(options, () => this.#requester.call('resources/read', next, options)),
    )
    if (!Array.isArray(result.contents)) throw invalidResult('resources/read', 'it has no contents')
    return result
  }
}
