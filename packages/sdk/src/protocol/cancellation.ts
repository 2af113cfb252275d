import type { RequestId } from '../jsonrpc/message.ts'
import type { NotificationParams } from './base.ts'

/** Params of `notifications/cancelled`. */
export interface CancelledParams extends NotificationParams {
  /** Optional in 2025-11-25, required in all others. */
  requestId?: RequestId
  reason?: string
}
