import { ProtocolError, RpcCode } from '../../errors.ts'
import type { Params } from '../../jsonrpc/message.ts'
import type { CompleteParams, CompleteResult } from '../../protocol/completion.ts'
import type { StandardSchema } from '../../schema/standard.ts'
import { rankByRelevance } from '../../util/rank.ts'
import type { Context } from '../context.ts'
import type { FeatureHost } from './feature.ts'
import type { Prompts } from './prompts.ts'
import type { Resources } from './resources.ts'

/** What is known when a value is completed: the arguments that were settled before. */
export interface CompletionContext {
  arguments?: Record<string, string> | undefined
}

/** Suggests values for what was typed so far, best first. `ctx` tells who is asking. */
export type Completer = (
  value: string,
  context: CompletionContext,
  ctx: Context,
) => Suggestions | PromiseLike<Suggestions>

/** A list is searched with fuzzy matching, and the most relevant values come first. */
export type CompleterLike = Completer | readonly string[]

export type Suggestions = readonly string[] | SuggestionPage

export interface SuggestionPage {
  values: readonly string[]
  /** How many there are in all. */
  total?: number | undefined
  hasMore?: boolean | undefined
}

/** The wire carries at most this many (2025-11-25 completion). */
const maxValues = 100

const completers = new WeakMap<object, Completer>()

/**
 * Gives a schema suggestions: a list, or a function.
 *
 * @example
 * argsSchema: { language: completable(z.string(), ['python', 'typescript']) }
 *
 * @example
 * argsSchema: { user: completable(z.string(), (typed, _context, ctx) => findUsers(typed, ctx.auth)) }
 */
export function completable<S extends StandardSchema>(schema: S, complete: CompleterLike): S {
  // A copy, where the library can make one, so that the schema can be used elsewhere without suggestions, or with others.
  const { clone } = schema as { clone?: unknown }
  const own = typeof clone === 'function' ? (clone.call(schema) as S) : schema
  if (completers.has(own))
    throw new TypeError('This schema has suggestions already; make another one for other suggestions')
  completers.set(own, toCompleter(complete))
  return own
}

export function toCompleter(complete: CompleterLike): Completer {
  return typeof complete === 'function' ? complete : (typed) => rankByRelevance(complete, typed)
}

/** Looks through wrappers too, so that `completable(z.string(), ...).optional()` works as well. */
export function completerOf(schema: unknown): Completer | undefined {
  // An arktype is a function.
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

/** Where zod keeps the schema inside an optional, a default and the like. */
function innerOf(schema: object): unknown {
  const { _zod, _def } = schema as { _zod?: { def?: { innerType?: unknown } }; _def?: { innerType?: unknown } }
  return _zod?.def?.innerType ?? _def?.innerType
}

export class Completions {
  readonly #host: FeatureHost
  readonly #prompts: Prompts
  readonly #resources: Resources

  constructor(host: FeatureHost, prompts: Prompts, resources: Resources) {
    this.#host = host
    this.#prompts = prompts
    this.#resources = resources
  }

  /** Whether anything here can be completed: the capability follows from it. */
  get present(): boolean {
    return (
      this.#prompts.completes ||
      this.#resources.completes ||
      this.#host.mounts.some(({ server }) => server.features.completions.present)
    )
  }

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
      const mount = this.#host.mounts.find(({ server }) => server.features.resources.knowsReference(ref.uri))
      return mount && { server: mount.server, ref }
    }
    const found = this.#prompts.mountOf(ref.name)
    return found && { server: found.server, ref: { ...ref, name: found.name } }
  }
}

function toCompletion(suggestions: Suggestions): CompleteResult['completion'] {
  const { values, total, hasMore }: SuggestionPage = isList(suggestions) ? { values: suggestions } : suggestions
  if (!Array.isArray(values) || values.some((value) => typeof value !== 'string')) {
    throw new TypeError('A completer must return strings')
  }
  const tooMany = values.length > maxValues
  const all = total ?? (hasMore ? undefined : values.length)
  return {
    values: tooMany ? values.slice(0, maxValues) : [...values],
    ...(all !== undefined && { total: all }),
    hasMore: hasMore ?? (tooMany || (total !== undefined && total > values.length)),
  }
}

function isList(suggestions: Suggestions): suggestions is readonly string[] {
  return Array.isArray(suggestions)
}

export function unknownArgument(name: string): ProtocolError {
  return new ProtocolError(RpcCode.InvalidParams, `${name} has no such argument`)
}
