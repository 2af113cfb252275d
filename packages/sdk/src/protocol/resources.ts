import type { NotificationParams, RequestParams, Result } from './base.ts'
import type { CacheHints } from './caching.ts'
import type { Annotations } from './content.ts'
import type { Icon } from './icons.ts'
import type { InputResponseParams } from './input.ts'
import type { Meta } from './meta.ts'
import type { PaginatedResult } from './pagination.ts'

/** A resource that a server offers. */
export interface Resource {
  uri: string
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  mimeType?: string
  annotations?: Annotations
  /** Size in bytes, before encoding. */
  size?: number
  /** Since 2025-11-25. */
  icons?: Icon[]
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** A template for resource URIs. The specification calls it `ResourceTemplate`, which is a class here. */
export interface ResourceTemplateInfo {
  /** RFC 6570. */
  uriTemplate: string
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  mimeType?: string
  annotations?: Annotations
  /** Since 2025-11-25. */
  icons?: Icon[]
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** The contents of a resource as text. */
export interface TextResourceContents {
  uri: string
  text: string
  mimeType?: string
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** The contents of a resource as bytes. */
export interface BlobResourceContents {
  uri: string
  /** Base64. */
  blob: string
  mimeType?: string
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** The contents of a resource, or of one of its parts. */
export type ResourceContents = TextResourceContents | BlobResourceContents

/** Result of `resources/list`. */
export interface ListResourcesResult extends PaginatedResult, CacheHints {
  resources: Resource[]
}

/** Result of `resources/templates/list`. */
export interface ListResourceTemplatesResult extends PaginatedResult, CacheHints {
  resourceTemplates: ResourceTemplateInfo[]
}

/** Params of `resources/read`. */
export interface ReadResourceParams extends RequestParams, InputResponseParams {
  uri: string
}

/** Result of `resources/read`. */
export interface ReadResourceResult extends Result, CacheHints {
  contents: ResourceContents[]
}

/** Params of `resources/subscribe`. Until 2025-11-25. */
export interface SubscribeParams extends RequestParams {
  uri: string
}

/** Params of `resources/unsubscribe`. Until 2025-11-25. */
export interface UnsubscribeParams extends RequestParams {
  uri: string
}

/** Params of `notifications/resources/updated`. */
export interface ResourceUpdatedParams extends NotificationParams {
  /** May identify a part of the subscribed resource. */
  uri: string
}
