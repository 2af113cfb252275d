/**
 * The types of every definition of every revision, by the names of the specification.
 *
 * @example
 * import type { Messages } from 'tenon/schemas'
 *
 * type Result = Messages['2025-11-25']['CallToolResult']
 */
export interface Messages {
  readonly '2024-11-05': import('./generated/2024-11-05.ts').Definitions
  readonly '2025-03-26': import('./generated/2025-03-26.ts').Definitions
  readonly '2025-06-18': import('./generated/2025-06-18.ts').Definitions
  readonly '2025-11-25': import('./generated/2025-11-25.ts').Definitions
  readonly '2026-07-28': import('./generated/2026-07-28.ts').Definitions
}
