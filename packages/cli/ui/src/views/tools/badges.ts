import { isObject } from 'tenon/internal'
import type { Item } from '../../store/lists.ts'

/** What the server claims about a tool. */
export function badgesOf(tool: Item): string[] {
  const hints = isObject(tool.annotations) ? tool.annotations : {}
  const badges = []
  if (hints.readOnlyHint === true) badges.push('read-only')
  if (hints.destructiveHint === true && hints.readOnlyHint !== true) badges.push('destructive')
  if (hints.idempotentHint === true) badges.push('idempotent')
  if (isObject(tool.execution) && tool.execution.taskSupport === 'required') badges.push('task')
  return badges
}
