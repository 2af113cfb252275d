import type { RequestParams, Result } from './base.ts'
import type { ElicitParams, ElicitResult } from './elicitation.ts'
import type { ListRootsResult } from './roots.ts'
import type { CreateMessageParams, CreateMessageResult } from './sampling.ts'

/** A request for input, sent inside a result. Since 2026-07-28. */
export type InputRequest =
  | { method: 'elicitation/create'; params: ElicitParams }
  | { method: 'sampling/createMessage'; params: CreateMessageParams }
  | { method: 'roots/list'; params?: RequestParams }

/** Requests for input, by a key that the server chooses. Since 2026-07-28. */
export interface InputRequests {
  [key: string]: InputRequest
}

/** The response to an {@link InputRequest}. Since 2026-07-28. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult

/** Responses, by the key of the request for input. Since 2026-07-28. */
export interface InputResponses {
  [key: string]: InputResponse
}

/** The server needs input first: it sends requests for input, state to send back, or both. Since 2026-07-28. */
export interface InputRequiredResult extends Result {
  resultType: 'input_required'
  inputRequests?: InputRequests
  requestState?: string
}

/** Params that `tools/call`, `prompts/get` and `resources/read` take when they are repeated with input. */
export interface InputResponseParams {
  /** Since 2026-07-28. */
  inputResponses?: InputResponses
  /** The state that the server sent, unchanged. Since 2026-07-28. */
  requestState?: string
}
