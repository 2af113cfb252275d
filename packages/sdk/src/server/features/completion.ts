import { invalidParams, type ProtocolError } from '../../errors.ts'
import type { Params } from '../../jsonrpc/message.ts'
import type { CompleteParams, CompleteResult } from '../../protocol/completion.ts'
import type { StandardSchema } from '../../schema/standard.ts'
import type { Context } from '../context.ts'
import type { FeatureServer } from './feature.ts'
import type { Prompts } from './prompts.ts'
import type { Resources } from './resources.ts'

/** The arguments that the user has already entered. */
export interface CompletionContext {
  arguments?: Record<string, string> | undefined
}

/** Suggests values for the typed text, best first. */
export type Completer = (
  value: string,
  context: CompletionContext,
  ctx: Context,
) => Suggestions | PromiseLike<Suggestions>

/** A completer, or a list of values that is searched with fuzzy matching. */
export type CompleterLike = Completer | readonly string[]

/** Suggested values, with a total if there are more. */
export type Suggestions = readonly string[] | SuggestionPage

/** A part of the suggested values. */
export interface SuggestionPage {
  values: readonly string[]
  /** Total number of matching values. */
  total?: number | undefined
  hasMore?: boolean | undefined
}

/** Maximum values per response (2025-11-25 completion). */
const maxValues = 100

const completers = new WeakMap<object, Completer>()

/**
 * Adds suggestions to a schema: a list of values, or a function.
 *
 * @example
 * ```ts
 * argsSchema: {
 *   language: completable(z.string(), ['python', 'typescript']),
 *   user: completable(z.string(), (typed, _context, ctx) => findUsers(typed, ctx.auth)),
 * }
 * ```
 */
export function completable<S extends StandardSchema>(schema: S, complete: CompleterLike): S {
  // Copy the schema if its library supports that, so that the original can be used with other suggestions.
  const { clone } = schema as { clone?: unknown }
  const own = typeof clone === 'function' ? (clone.call(schema) as S) : schema
  if (completers.has(own))
    throw new TypeError('This schema already has suggestions. Create another schema for other suggestions.')
  completers.set(own, toCompleter(complete))
  return own
}

/** Returns a completer for a list of values. */
export function toCompleter(complete: CompleterLike): Completer {
  return typeof complete === 'function' ? complete : (typed) => rankByRelevance(complete, typed)
}

/** Returns the completer of a schema, also inside wrappers such as `completable(z.string(), ...).optional()`. */
export function completerOf(schema: unknown): Completer | undefined {
  // ArkType schemas are functions.
  for (
    let inner = schema;
    inner && (typeof inner === 'object' || typeof inner === 'function');
    inner = innerOf(inner)
  ) {
    const found = completers.get(inner)
    if (found) return found
  }
  return undefined
}

/** Returns the schema inside a zod wrapper such as an optional or a default. */
function innerOf(schema: object): unknown {
  const { _zod, _def } = schema as { _zod?: { def?: { innerType?: unknown } }; _def?: { innerType?: unknown } }
  return _zod?.def?.innerType ?? _def?.innerType
}

/** The completion feature. */
export class Completions {
  readonly #server: FeatureServer
  readonly #prompts: Prompts
  readonly #resources: Resources

  constructor(server: FeatureServer, prompts: Prompts, resources: Resources) {
    this.#server = server
    this.#prompts = prompts
    this.#resources = resources
  }

  /** True if anything can be completed. The capability is declared in this case. */
  get present(): boolean {
    return (
      this.#prompts.completes ||
      this.#resources.completes ||
      this.#server.mounts.some(({ server }) => server.features.completions.present)
    )
  }

  /** Serves `completion/complete`. */
  async complete(params: Params, ctx: Context): Promise<CompleteResult> {
    const { ref, argument, context } = params as unknown as CompleteParams
    const mounted = this.#mountOf(ref)
    if (mounted)
      return (await mounted.server.server.delegate(
        'completion/complete',
        { ...params, ref: mounted.ref },
        ctx,
      )) as CompleteResult
    const completer =
      ref.type === 'ref/prompt'
        ? this.#prompts.completer(ref.name, argument.name, ctx)
        : this.#resources.completer(ref.uri, argument.name, ctx)
    const suggestions = completer ? await completer(argument.value, context ?? {}, ctx) : []
    return { completion: toCompletion(suggestions) }
  }

  #mountOf(ref: CompleteParams['ref']) {
    if (ref.type === 'ref/resource') {
      if (this.#resources.ownsReference(ref.uri)) return undefined
      const mount = this.#server.mounts.find(({ server }) => server.features.resources.knowsReference(ref.uri))
      return mount && { server: mount.server, ref }
    }
    const found = this.#prompts.mountOf(ref.name)
    return found && { server: found.server, ref: { ...ref, name: found.name } }
  }
}

function toCompletion(suggestions: Suggestions): CompleteResult['completion'] {
  const { values, total, hasMore } = toPage(suggestions)
  if (!Array.isArray(values) || values.some((value) => typeof value !== 'string')) {
    throw new TypeError('A completer must return an array of strings')
  }
  const tooMany = values.length > maxValues
  const all = total ?? (hasMore ? undefined : values.length)
  return {
    values: tooMany ? values.slice(0, maxValues) : [...values],
    ...(all !== undefined && { total: all }),
    hasMore: hasMore ?? (tooMany || (total !== undefined && total > values.length)),
  }
}

/** Returns suggestions as a page. */
export function toPage(suggestions: Suggestions): SuggestionPage {
  return Array.isArray(suggestions) ? { values: suggestions } : (suggestions as SuggestionPage)
}

/** Returns the error for an argument that does not exist. */
export function unknownArgument(name: string): ProtocolError {
  return invalidParams(`Unknown argument of ${name}`)
}

/**
 * Returns the values that match the typed text, most relevant first: exact match, prefix, start of a word, substring, and last
 * values that contain the characters in order. Ignores case. Keeps the given order within a group.
 */
export function rankByRelevance(values: readonly string[], typed: string): string[] {
  if (typed === '') return [...values]
  const wanted = typed.toLowerCase()
  const groups: string[][] = [[], [], [], [], []]
  for (const value of values) groups[groupOf(value, wanted)]?.push(value)
  return groups.flat()
}

function groupOf(value: string, wanted: string): number {
  const text = value.toLowerCase()
  const at = text.indexOf(wanted)
  if (at === 0) return text.length === wanted.length ? 0 : 1
  if (at > 0) return startsWord(value, wanted) ? 2 : 3
  return hasInOrder(text, wanted) ? 4 : -1
}

/** `script` starts a word in `type-script` and in `typeScript`, but not in `typescript`. */
function startsWord(value: string, wanted: string): boolean {
  const words = value.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u)
  return words.some((word) => word.toLowerCase().startsWith(wanted))
}

function hasInOrder(text: string, wanted: string): boolean {
  let at = -1
  for (const character of wanted) {
    at = text.indexOf(character, at + 1)
    if (at === -1) return false
  }
  return true
}
