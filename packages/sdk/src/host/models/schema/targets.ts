/**
 * What a schema is for: the tools of an API, with or without its strict mode, in which the API guarantees that the arguments
 * match the schema. `ai-sdk` is the common part of what the providers of the Vercel AI SDK take.
 */
export type SchemaTarget = 'anthropic' | 'anthropic-strict' | 'openai' | 'openai-strict' | 'ai-sdk'

/** What an API takes. */
export interface TargetFacts {
  /** The name of the API in notes. */
  readonly api: string
  /** Keywords that the API takes; undefined: all. */
  readonly keywords?: ReadonlySet<string> | undefined
  /** Values of `format` that the API takes; undefined: all. */
  readonly formats?: ReadonlySet<string> | undefined
  /** Names of properties that the API takes; undefined: all. */
  readonly propertyName?: RegExp | undefined
  /** Objects must be closed, and every schema must have a type. */
  readonly isStrict: boolean
  /** Every property must be required, so optional properties become nullable. */
  readonly isAllRequired: boolean
  /** `oneOf`, `allOf` and `const` are replaced by `anyOf`, a merged schema and `enum`. */
  readonly isPlain: boolean
  /** Levels of nested objects. */
  readonly maxDepth: number
  readonly maxProperties: number
  readonly maxEnumValues: number
  /** The largest `minItems` that the API takes. */
  readonly maxMinItems: number
}

const common = {
  isStrict: false,
  isAllRequired: false,
  isPlain: false,
  maxDepth: 32,
  maxProperties: 5_000,
  maxEnumValues: 5_000,
  maxMinItems: Number.POSITIVE_INFINITY,
}

/**
 * Property names outside of this pattern, `$ref` anywhere and a union at the root are rejected
 * (platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes; github.com/anthropics/claude-code/issues/5973).
 */
const anthropicPropertyName = /^[a-zA-Z0-9_.-]{1,64}$/

/**
 * Strict tools of Anthropic take what `transformJSONSchema` of the package `@anthropic-ai/sdk` 1.8 keeps; it moves all other
 * keywords to the description.
 */
const anthropicKeywords = new Set([
  'type',
  'title',
  'description',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'enum',
  'const',
  'anyOf',
  'format',
])

/**
 * Keywords and limits of "Supported schemas" in the guide to structured outputs
 * (developers.openai.com/api/docs/guides/structured-outputs): 5,000 properties, 10 levels, 1,000 enum values.
 */
const openaiKeywords = new Set([
  'type',
  'title',
  'description',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'enum',
  'const',
  'anyOf',
  'format',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
])

const formats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']

export const targets: Readonly<Record<SchemaTarget, TargetFacts>> = {
  anthropic: { ...common, api: 'Anthropic', propertyName: anthropicPropertyName },
  'anthropic-strict': {
    ...common,
    api: 'Anthropic (strict)',
    propertyName: anthropicPropertyName,
    keywords: anthropicKeywords,
    formats: new Set([...formats, 'uri']),
    isStrict: true,
    isPlain: true,
    maxMinItems: 1,
  },
  openai: { ...common, api: 'OpenAI' },
  'openai-strict': {
    ...common,
    api: 'OpenAI (strict)',
    keywords: openaiKeywords,
    formats: new Set(formats),
    isStrict: true,
    isAllRequired: true,
    isPlain: true,
    maxDepth: 10,
    maxEnumValues: 1_000,
  },
  'ai-sdk': { ...common, api: 'AI SDK', propertyName: anthropicPropertyName, isPlain: true },
}

/** The target without its strict mode, for schemas that the strict mode cannot express. */
export function withoutStrict(target: SchemaTarget): SchemaTarget {
  if (target === 'openai-strict') return 'openai'
  return target === 'anthropic-strict' ? 'anthropic' : target
}
