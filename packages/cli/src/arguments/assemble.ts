import { usageError } from '../exit-codes.ts'
import { type ArgumentSchema, itemsOf, type NodeSchema, propertyOf, resolveSchema, toType, typesOf } from './coerce.ts'

export type { ArgumentSchema } from './coerce.ts'

/** Arguments of a tool, in the order in which they were typed. */
export type Arguments = Record<string, unknown>

/** One argument as it was typed: a text whose type the schema decides, or JSON. */
export interface GivenArgument {
  readonly key: string
  readonly text?: string | undefined
  readonly json?: unknown
}

/**
 * Builds the arguments object. `a.b=1` is the member `b` of `a`, unless the schema has a property with this name. A repeated key
 * makes a list.
 */
export function assembleArguments(
  given: readonly GivenArgument[],
  schema: ArgumentSchema,
  before: Arguments = {},
): Arguments {
  const root = schema as NodeSchema
  const result: Arguments = structuredClone(before)
  const seen = new Map<string, 'list' | 'value'>()
  for (const argument of given) setArgument(result, argument, root, seen)
  return result
}

function setArgument(
  result: Arguments,
  argument: GivenArgument,
  root: NodeSchema,
  seen: Map<string, 'list' | 'value'>,
): void {
  const path = pathOf(argument.key, root)
  const { holder, schema } = findHolder(result, path, root)
  const name = path.at(-1) ?? ''
  const node = propertyOf(schema, name, root)
  const types = typesOf(node, root)
  // Where a text is allowed as well, it becomes a list only if it is repeated.
  const isList = types.has('array') && !types.has('string')
  const mayRepeat = node === undefined || types.has('array')
  const isRepeated = seen.has(argument.key)
  if (isRepeated && (seen.get(argument.key) === 'value' || argument.text === undefined)) {
    if (!mayRepeat || argument.text === undefined) {
      throw usageError(`The argument "${argument.key}" was given twice.`, 'Only lists can be repeated.')
    }
    define(holder, name, [Reflect.get(holder, name)])
    seen.set(argument.key, 'list')
  }
  const value = toValue(argument, node, root, isList || seen.get(argument.key) === 'list')
  const earlier: unknown = isRepeated ? Reflect.get(holder, name) : undefined
  define(holder, name, Array.isArray(earlier) && Array.isArray(value) ? [...earlier, ...value] : value)
  if (!isRepeated) seen.set(argument.key, isList && argument.text !== undefined ? 'list' : 'value')
}

function toValue({ text, json }: GivenArgument, node: NodeSchema | undefined, root: NodeSchema, isList: boolean) {
  if (text === undefined) return json
  if (!isList) return toType(text, node, root)
  const whole: unknown = text.startsWith('[') ? toType(text, { type: 'array' }, root) : undefined
  return Array.isArray(whole) ? whole : [toType(text, itemsOf(node, root), root)]
}

/** Dots separate members, unless a property has dots in its name. */
function pathOf(key: string, root: NodeSchema): string[] {
  if (!key.includes('.') || propertyOf(root, key, root) !== undefined) return [key]
  const path = key.split('.')
  return path.some((part) => part === '') ? [key] : path
}

function findHolder(result: Arguments, path: readonly string[], root: NodeSchema) {
  let holder: object = result
  let schema: NodeSchema | undefined = resolveSchema(root, root)
  for (const part of path.slice(0, -1)) {
    const known: unknown = Object.hasOwn(holder, part) ? Reflect.get(holder, part) : undefined
    const isObject = typeof known === 'object' && known !== null && !Array.isArray(known)
    if (known !== undefined && !isObject) {
      throw usageError(`The argument "${part}" is not an object, so "${path.join('.')}" cannot be part of it.`)
    }
    const next: object = isObject ? known : {}
    if (!isObject) define(holder, part, next)
    holder = next
    schema = propertyOf(schema, part, root)
  }
  return { holder, schema }
}

/** Creates an own member for every name, also for `__proto__`. */
function define(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true })
}
