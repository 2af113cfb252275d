import type { ModelChoice } from '../../client/input/choose-model.ts'
import type { CreateMessageParams, CreateMessageResult } from '../../protocol/sampling.ts'

/** Generates messages for servers that request sampling. `anthropic()`, `openai()` and `aiSdk()` adapt the client objects that you have. */
export interface Model {
  /** The models to choose from, by the hints and priorities of the server. The first is the default. */
  readonly choices: readonly ModelChoice[]
  /** Generates one message with the chosen model. */
  generate(request: ModelRequest): Promise<CreateMessageResult>
}

export interface ModelRequest {
  /** One of `choices`. */
  readonly model: string
  readonly params: CreateMessageParams
  readonly signal: AbortSignal
}
