import type { ModelChoice } from '../../client/input/choose-model.ts'
import type { CreateMessageParams, CreateMessageResult } from '../../protocol/sampling.ts'

/** Generates messages for servers that request sampling. `anthropic()`, `openai()` and `aiSdk()` adapt the client objects that you have. */
export interface Model {
  /** The models to choose from, by the hints and priorities of the server. The first is the default. */
  readonly choices: readonly ModelChoice[]
  /** Generates one message with the chosen model. */
  generate(request: ModelRequest): Promise<ModelAnswer>
}

export interface ModelRequest {
  /** One of `choices`. */
  readonly model: string
  readonly params: CreateMessageParams
  readonly signal: AbortSignal
}

/** A message of a model, with facts for the host that servers do not see. */
export interface ModelAnswer extends CreateMessageResult {
  /** What the model counted. Without it, the host estimates. */
  usage?: TokenUsage | undefined
  /**
   * Parts of the request that the API cannot take and that a client may ignore, such as `temperature`. Everything else that an
   * API cannot take is an error.
   */
  omitted?: readonly string[] | undefined
}

/** Numbers of tokens. */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
}
