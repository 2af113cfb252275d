import { UriTemplate } from '../shared/uriTemplate.ts'
import type { ListResourcesCallback } from './registered.ts'

/** Completes one variable of a URI template. */
export type CompleteResourceTemplateCallback = (
  value: string,
  context?: { arguments?: Record<string, string> },
) => string[] | Promise<string[]>

/** The callbacks of a resource template. */
interface ResourceTemplateCallbacks {
  /** Lists the resources of the template. Required: pass undefined if there is no list. */
  list: ListResourcesCallback | undefined
  /** Completes variables, by their names. */
  complete?: { [variable: string]: CompleteResourceTemplateCallback }
}

/** A URI template with the callbacks that list its resources and complete its variables. */
export class ResourceTemplate {
  private readonly _uriTemplate: UriTemplate
  private readonly _callbacks: ResourceTemplateCallbacks

  constructor(uriTemplate: string | UriTemplate, callbacks: ResourceTemplateCallbacks) {
    this._uriTemplate = typeof uriTemplate === 'string' ? new UriTemplate(uriTemplate) : uriTemplate
    this._callbacks = callbacks
  }

  /** The URI template. */
  get uriTemplate(): UriTemplate {
    return this._uriTemplate
  }

  /** Lists the resources of the template. */
  get listCallback(): ListResourcesCallback | undefined {
    return this._callbacks.list
  }

  /** Returns the callback that completes a variable. */
  completeCallback(variable: string): CompleteResourceTemplateCallback | undefined {
    return this._callbacks.complete?.[variable]
  }
}
