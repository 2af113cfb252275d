import type { Tool } from 'tenon'
import { safeLine } from 'tenon/internal'

/** One argument of a tool, as users see it. */
export interface ArgumentView {
  readonly name: string
  /** Such as `number`, `string[]` or `red|green`. */
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

/** Lists the arguments of a tool, required ones first. */
export function argumentsOf({ inputSchema }: Pick<Tool, 'inputSchema'>): ArgumentView[] {
  const { properties, required } = inputSchema as { properties?: unknown; required?: unknown }
  const names = Array.isArray(required) ? required : []
  return Object.entries(asObject(properties))
    .map(([name, schema]) => ({
      name,
      type: typeName(schema),
      isRequired: names.includes(name),
      description: textOf(asObject(schema).description),
    }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
}

/** The arguments as they are written on the command line: `a=<number> [note=<string>]`. */
export function usageOf(tool: Pick<Tool, 'inputSchema'>): string {
  return argumentsOf(tool)
    .map(({ name, type, isRequired }) => (isRequired ? `${name}=<${type}>` : `[${name}=<${type}>]`))
    .join(' ')
}

/** What a tool says about its behavior. Servers are not required to tell the truth. */
export function annotationsOf({ annotations = {} }: Pick<Tool, 'annotations'>): string[] {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
  const words: [boolean, string][] = [
    [readOnlyHint === true, 'read-only'],
    [readOnlyHint !== true && destructiveHint === true, 'destructive'],
    [destructiveHint === false && readOnlyHint !== true, 'not destructive'],
    [idempotentHint === true, 'idempotent'],
    [openWorldHint === true, 'open world'],
    [openWorldHint === false, 'closed world'],
  ]
  return words.flatMap(([applies, word]) => (applies ? [word] : []))
}

const maxEnumChars = 60

function typeName(schema: unknown, depth = 0): string {
  const { type, enum: values, const: only, items, anyOf, oneOf, $ref } = asObject(schema)
  if (depth > 4) return 'any'
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) return enumName(values)
  const variants = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
  if (variants) return [...new Set(variants.map((each) => typeName(each, depth + 1)))].join('|')
  if (Array.isArray(type)) return type.filter((each) => typeof each === 'string').join('|')
  if (type === 'array') return `${typeName(items, depth + 1)}[]`
  if (typeof type === 'string') return type
  return typeof $ref === 'string' ? ($ref.split('/').at(-1) ?? 'any') : 'any'
}

function enumName(values: readonly unknown[]): string {
  const name = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('|')
  return name.length <= maxEnumChars ? name : `${name.slice(0, maxEnumChars)}…`
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? safeLine(value) : ''
}
