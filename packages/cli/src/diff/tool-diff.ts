import type { Tool } from 'tenon'
import { hintsOf } from 'tenon/client'
import { toStableJson } from '../contract/json.ts'
import type { Change, Level } from './change.ts'
import { type Direction, type SchemaChange, show } from './schema-change.ts'
import { diffSchemas } from './schema-diff.ts'

/** Compares two versions of a tool. */
export function diffTool(before: Tool, after: Tool): Change[] {
  const what = `tool ${after.name}`
  return [
    ...diffSchemas(before.inputSchema, after.inputSchema).map((change) => toChange(change, inputLevels, what, 'input')),
    ...diffOutput(before, after, what),
    ...diffHints(before, after, what),
    ...diffTaskSupport(before, after, what),
    ...diffMembers(before, after, ['title', 'description', 'icons', '_meta'], what),
    ...diffTitle(before, after, what),
  ]
}

/** A caller sends arguments, so a server may accept more, but not less. */
const inputLevels: Readonly<Record<Direction, Level>> = {
  narrower: 'breaking',
  wider: 'compatible',
  other: 'breaking',
  addition: 'compatible',
  text: 'cosmetic',
}

/** A caller reads results, so a server may promise more, but not less. */
const outputLevels: Readonly<Record<Direction, Level>> = { ...inputLevels, narrower: 'compatible', wider: 'breaking' }

function toChange(
  { direction, path, message }: SchemaChange,
  byDirection: Readonly<Record<Direction, Level>>,
  what: string,
  side: 'input' | 'output',
): Change {
  return { level: byDirection[direction], what, path: `/${side}Schema${path}`, message }
}

function diffOutput({ outputSchema: before }: Tool, { outputSchema: after }: Tool, what: string): Change[] {
  const path = '/outputSchema'
  if (before !== undefined && after !== undefined)
    return diffSchemas(before, after).map((change) => toChange(change, outputLevels, what, 'output'))
  if (before !== undefined)
    return [{ level: 'breaking', what, path, message: 'no longer returns structured content with a schema' }]
  return after === undefined
    ? []
    : [{ level: 'compatible', what, path, message: 'now returns structured content with a schema' }]
}

/** Each hint, and the value that is the more dangerous one. */
const dangerous = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true } as const

/** Hosts decide by these hints what runs without asking, and clients what they repeat. Missing hints have defaults. */
function diffHints(before: Tool, after: Tool, what: string): Change[] {
  const old = hintsOf(before)
  const now = hintsOf(after)
  // Destructive and idempotent mean nothing for a tool that changes nothing.
  const isMeaningless = (hint: string) =>
    old.readOnlyHint && now.readOnlyHint && (hint === 'destructiveHint' || hint === 'idempotentHint')
  return Object.entries(dangerous).flatMap(([hint, worse]): Change[] => {
    const key = hint as keyof typeof dangerous
    if (old[key] === now[key] || isMeaningless(hint)) return []
    const level = now[key] === worse ? 'breaking' : 'compatible'
    return [{ level, what, path: `/annotations/${hint}`, message: `${hint}: ${old[key]} -> ${now[key]}` }]
  })
}

function diffTitle({ annotations: before }: Tool, { annotations: after }: Tool, what: string): Change[] {
  if (before?.title === after?.title) return []
  const message = `title: ${show(before?.title)} -> ${show(after?.title)}`
  return [{ level: 'cosmetic', what, path: '/annotations/title', message }]
}

function diffTaskSupport({ execution: before }: Tool, { execution: after }: Tool, what: string): Change[] {
  const old = before?.taskSupport ?? 'forbidden'
  const now = after?.taskSupport ?? 'forbidden'
  if (old === now) return []
  const level = now === 'optional' ? 'compatible' : 'breaking'
  return [{ level, what, path: '/execution/taskSupport', message: `taskSupport: ${old} -> ${now}` }]
}

/** Reports members that only people see. */
export function diffMembers<T extends object>(
  before: T,
  after: T,
  members: readonly (keyof T & string)[],
  what: string,
): Change[] {
  return members.flatMap((member) => {
    if (toStableJson(before[member]) === toStableJson(after[member])) return []
    const message = `${member}: ${show(before[member])} -> ${show(after[member])}`
    return [{ level: 'cosmetic', what, path: `/${member}`, message }]
  })
}
