import type { NotificationParams } from './base.ts'
import type { ProgressToken } from './meta.ts'

/** Params of `notifications/progress`. */
export interface ProgressParams extends NotificationParams {
  progressToken: ProgressToken
  progress: number
  total?: number
  /** Since 2025-03-26. */
  message?: string
}
