import { UriTemplate, type Variables } from '@tenon/compat-v1/shared/uriTemplate.js'
import type { ListResourcesCallback } from './registered.ts'

export type { Variables }

/** Suggests values for a variable of a template. */
export type CompleteResourceTemplateCallback = (
  value: string,
  context?: { arguments?: Record<string, string> },
) => string[] | Promise<string[]>

/** A family of resources whose URIs follow a template, such as `notes://{id}`. */
export class ResourceTemplate {
  private readonly _tenonTemplate: UriTemplate
  private readonly _callbacks: {
    list: ListResourcesCallback | undefined
    complete?: { [variable: string]: CompleteResourceTemplateCallback }
  }

  /** @param callbacks `list` is required: pass undefined if there is no list. */
  constructor(
    uriTemplate: string | UriTemplate,
    callbacks: {
      list: ListResourcesCallback | undefined
      complete?: { [variable: string]: CompleteResourceTemplateCallback }
    },
  ) {
    this._tenonTemplate = typeof uriTemplate === 'string' ? new UriTemplate(uriTemplate) : uriTemplate
    this._callbacks = callbacks
  }

  get uriTemplate(): UriTemplate {
    return this._tenonTemplate
  }

  get listCallback(): ListResourcesCallback | undefined {
    return this._callbacks.list
  }

  completeCallback(variable: string): CompleteResourceTemplateCallback | undefined {
    return this._callbacks.complete?.[variable]
  }
}
