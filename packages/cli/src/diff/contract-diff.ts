import type { Prompt, Resource, ResourceTemplateInfo } from 'tenon'
import type { Contract } from '../contract/contract.ts'
import { toStableJson } from '../contract/json.ts'
import { type Change, type Level, levels } from './change.ts'
import { show } from './schema-change.ts'
import { diffMembers, diffTool } from './tool-diff.ts'

/** Lists the differences between two contracts, the most important first. The version of the server is not one. */
export function diffContracts(before: Contract, after: Contract): Change[] {
  const changes = [
    ...diffLists({ noun: 'tool', key: 'name', before: before.tools, after: after.tools, compare: diffTool }),
    ...diffLists({ noun: 'prompt', key: 'name', before: before.prompts, after: after.prompts, compare: diffPrompt }),
    ...diffLists({
      noun: 'resource template',
      key: 'uriTemplate',
      before: before.resourceTemplates,
      after: after.resourceTemplates,
      compare: (old, now) => diffResource(old, now, `resource template ${now.uriTemplate}`),
    }),
    ...diffLists({
      noun: 'resource',
      key: 'uri',
      before: before.resources,
      after: after.resources,
      compare: (old, now) => diffResource(old, now, `resource ${now.uri}`),
    }),
    ...diffServer(before, after),
  ]
  return levels.flatMap((level) => changes.filter((change) => change.level === level))
}

interface ListDiff<T, K extends keyof T & string> {
  readonly noun: string
  readonly key: K
  readonly before: readonly T[]
  readonly after: readonly T[]
  compare(before: T, after: T): Change[]
}

function diffLists<T extends Record<K, string>, K extends keyof T & string>(lists: ListDiff<T, K>): Change[] {
  const { noun, key, before, after, compare } = lists
  const old = new Map(before.map((item) => [item[key], item]))
  const now = new Map(after.map((item) => [item[key], item]))
  const changes: Change[] = []
  const change = (level: Level, item: T, message: string) =>
    changes.push({ level, what: `${noun} ${item[key]}`, path: '', message })
  for (const item of old.values()) {
    const match = now.get(item[key])
    if (match) changes.push(...compare(item, match))
    else change('breaking', item, removedMessage(item, key, [...now.values()], old))
  }
  for (const item of now.values()) if (!old.has(item[key])) change('compatible', item, 'added')
  return changes
}

/** The same definition under a new name was renamed. */
function removedMessage<T extends Record<K, string>, K extends keyof T & string>(
  item: T,
  key: K,
  now: readonly T[],
  old: ReadonlyMap<string, T>,
): string {
  const textOf = (definition: T) => toStableJson({ ...definition, [key]: '' })
  const renamed = now.find((other) => !old.has(other[key]) && textOf(other) === textOf(item))
  return renamed ? `renamed to ${renamed[key]}` : 'removed'
}

function diffPrompt(before: Prompt, after: Prompt): Change[] {
  const what = `prompt ${after.name}`
  const old = new Map((before.arguments ?? []).map((argument) => [argument.name, argument]))
  const now = new Map((after.arguments ?? []).map((argument) => [argument.name, argument]))
  const changes: Change[] = []
  const change = (level: Level, name: string, message: string) =>
    changes.push({ level, what, path: `/arguments/${name}`, message })
  for (const [name, argument] of old) {
    const match = now.get(name)
    if (!match) change('breaking', name, `removed: ${name}`)
    else if (match.required && !argument.required) change('breaking', name, `now required: ${name}`)
    else if (!match.required && argument.required) change('compatible', name, `no longer required: ${name}`)
    if (match && match.description !== argument.description)
      change('cosmetic', name, `description: ${show(argument.description)} -> ${show(match.description)}`)
  }
  for (const [name, { required }] of now) {
    if (old.has(name)) continue
    change(required ? 'breaking' : 'compatible', name, required ? `added, and required: ${name}` : `added: ${name}`)
  }
  return [...changes, ...diffMembers(before, after, ['title', 'description', 'icons', '_meta'], what)]
}

function diffResource<T extends Resource | ResourceTemplateInfo>(before: T, after: T, what: string): Change[] {
  const changes = diffMembers<Resource | ResourceTemplateInfo>(
    before,
    after,
    ['name', 'title', 'description', 'annotations', 'icons', '_meta'],
    what,
  )
  if (before.mimeType === after.mimeType) return changes
  const message = `mimeType: ${show(before.mimeType)} -> ${show(after.mimeType)}`
  const level = before.mimeType === undefined ? 'compatible' : 'breaking'
  return [{ level, what, path: '/mimeType', message }, ...changes]
}

function diffServer(before: Contract, after: Contract): Change[] {
  const changes: Change[] = []
  if (before.server?.name !== after.server?.name) {
    const message = `name: ${show(before.server?.name)} -> ${show(after.server?.name)}`
    changes.push({ level: 'cosmetic', what: 'server', path: '/name', message })
  }
  if (before.instructions !== after.instructions) {
    const message = `instructions: ${show(before.instructions ?? undefined)} -> ${show(after.instructions ?? undefined)}`
    changes.push({ level: 'cosmetic', what: 'server', path: '/instructions', message })
  }
  return changes
}
