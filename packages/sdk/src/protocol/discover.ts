import type { Result } from './base.ts'
import type { CacheHints } from './caching.ts'
import type { ServerCapabilities } from './capabilities.ts'

/** Result of `server/discover`; the server names itself in `_meta`. Since 2026-07-28. */
export interface DiscoverResult extends Result, CacheHints {
  supportedVersions: string[]
  capabilities: ServerCapabilities
  instructions?: string
}
