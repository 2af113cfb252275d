import type { JsonObject } from '../util/objects.ts'
import type { Icon } from './icons.ts'

/** Name and version of a client or server program. */
export interface Implementation {
  name: string
  version: string
  /** Since 2025-06-18. */
  title?: string | undefined
  /** Since 2025-11-25. */
  description?: string | undefined
  /** Since 2025-11-25. */
  icons?: Icon[] | undefined
  /** Since 2025-11-25. */
  websiteUrl?: string | undefined
}

/** The features that a client supports. */
export interface ClientCapabilities {
  experimental?: { [name: string]: JsonObject }
  /** Deprecated in 2026-07-28, where it has no members. */
  roots?: {
    /** Until 2025-11-25. */
    listChanged?: boolean
  }
  /** Deprecated in 2026-07-28. */
  sampling?: {
    /** Since 2025-11-25. */
    context?: JsonObject
    /** Since 2025-11-25. */
    tools?: JsonObject
  }
  /** Since 2025-06-18; an empty object stands for form mode. */
  elicitation?: {
    /** Since 2025-11-25. */
    form?: JsonObject
    /** Since 2025-11-25. */
    url?: JsonObject
  }
  /** 2025-11-25 only. */
  tasks?: {
    list?: JsonObject
    cancel?: JsonObject
    requests?: {
      sampling?: { createMessage?: JsonObject }
      elicitation?: { create?: JsonObject }
    }
  }
  /** Settings by extension id. Since 2026-07-28; earlier peers tolerate it. */
  extensions?: { [id: string]: JsonObject }
}

/** The features that a server offers. */
export interface ServerCapabilities {
  experimental?: { [name: string]: JsonObject }
  /** Deprecated in 2026-07-28. */
  logging?: JsonObject
  /** Since 2025-03-26. */
  completions?: JsonObject
  prompts?: { listChanged?: boolean }
  resources?: { subscribe?: boolean; listChanged?: boolean }
  tools?: { listChanged?: boolean }
  /** 2025-11-25 only. */
  tasks?: {
    list?: JsonObject
    cancel?: JsonObject
    requests?: { tools?: { call?: JsonObject } }
  }
  /** Settings by extension id. Since 2026-07-28; earlier peers tolerate it. */
  extensions?: { [id: string]: JsonObject }
}
