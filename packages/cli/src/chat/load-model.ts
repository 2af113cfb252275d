import { type AnthropicClient, anthropic, type Model, type OpenAiChatClient, openai } from 'tenon/host'

/** A model, or the reason why there is none. */
export type LoadedModel = { readonly model: Model; readonly name: string } | { readonly reason: string }

/**
 * Creates the model whose key is in the environment. The SDK is loaded from where this program is installed, never from the
 * current folder: its packages must not run without consent.
 */
export async function loadModel(name: string | undefined): Promise<LoadedModel> {
  const provider = providers.find(({ key }) => process.env[key])
  if (!provider) return { reason: 'There is no model: neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set.' }
  const { key, sdk, defaultModel, create } = provider
  const model = name ?? defaultModel
  let loaded: { readonly default: new () => unknown }
  try {
    loaded = await import(sdk)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
    const reason = isMissing
      ? 'is not installed'
      : `cannot be loaded: ${error instanceof Error ? error.message : error}`
    return { reason: `${key} is set, but ${sdk} ${reason}. Run "npm install ${sdk}" where @tenon/cli is installed.` }
  }
  return { model: create(new loaded.default(), model), name: model }
}

interface Provider {
  /** The environment variable with the key, which the SDK reads itself. */
  readonly key: string
  readonly sdk: string
  readonly defaultModel: string
  create(client: unknown, model: string): Model
}

const providers: readonly Provider[] = [
  {
    key: 'ANTHROPIC_API_KEY',
    sdk: '@anthropic-ai/sdk',
    defaultModel: 'claude-sonnet-5',
    create: (client, model) => anthropic(client as AnthropicClient, { model }),
  },
  {
    key: 'OPENAI_API_KEY',
    sdk: 'openai',
    defaultModel: 'gpt-6-mini',
    create: (client, model) => openai(client as OpenAiChatClient, { model }),
  },
]
