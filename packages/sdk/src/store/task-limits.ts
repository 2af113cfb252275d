import { McpError } from '../errors.ts'
import type { TaskLimits } from './ports.ts'

/** Usage of one owner, or of all owners together. */
export interface TaskUsage {
  readonly open: number
  readonly finished: number
  readonly bytes: number
}

/** The part of a store that enforces limits. Without an owner, methods refer to all tasks. */
export interface TaskInventory {
  usage(owner?: string): TaskUsage
  /**
   * Removes the task that finished first, except the given one.
   * @returns False if there is none.
   */
  removeOldestFinished(owner: string | undefined, except: string | undefined): boolean
}

/** Limits that allow everything. */
export const noLimits: TaskLimits = {
  maxOpenPerOwner: Number.POSITIVE_INFINITY,
  maxOpen: Number.POSITIVE_INFINITY,
  maxFinishedPerOwner: Number.POSITIVE_INFINITY,
  maxFinished: Number.POSITIVE_INFINITY,
  maxBytesPerOwner: Number.POSITIVE_INFINITY,
  maxBytes: Number.POSITIVE_INFINITY,
}

/** The limit that a new task would exceed. */
export type Overload = 'open-per-owner' | 'open' | 'bytes-per-owner' | 'bytes'

/** Evicts finished tasks to make room for a new one. Returns the limit that would still be exceeded, if any. */
export function admitTask(
  inventory: TaskInventory,
  owner: string,
  bytes: number,
  limits: TaskLimits,
): Overload | undefined {
  if (inventory.usage(owner).open >= limits.maxOpenPerOwner) return 'open-per-owner'
  if (inventory.usage().open >= limits.maxOpen) return 'open'
  evictFinished(inventory, owner, limits, { bytes })
  if (inventory.usage(owner).bytes + bytes > limits.maxBytesPerOwner) return 'bytes-per-owner'
  return inventory.usage().bytes + bytes > limits.maxBytes ? 'bytes' : undefined
}

/** Removes finished tasks that exceed the limits, in the order in which they finished. */
export function evictFinished(
  inventory: TaskInventory,
  owner: string,
  limits: TaskLimits,
  { bytes = 0, except }: { bytes?: number; except?: string } = {},
): void {
  const bounds = [
    { countedOwner: owner, maxFinished: limits.maxFinishedPerOwner, maxBytes: limits.maxBytesPerOwner },
    { countedOwner: undefined, maxFinished: limits.maxFinished, maxBytes: limits.maxBytes },
  ]
  for (const { countedOwner, maxFinished, maxBytes } of bounds) {
    for (;;) {
      const usage = inventory.usage(countedOwner)
      const isOver = usage.finished > maxFinished || usage.bytes + bytes > maxBytes
      if (!isOver || !inventory.removeOldestFinished(countedOwner, except)) break
    }
  }
}

/** Returns the error for a task that was refused. */
export function overloadError(overload: Overload, limits: TaskLimits): McpError {
  return new McpError('overloaded', overloadMessages[overload](limits))
}

const overloadMessages: Readonly<Record<Overload, (limits: TaskLimits) => string>> = {
  'open-per-owner': ({ maxOpenPerOwner }) =>
    `Too many open tasks: a caller can have ${maxOpenPerOwner}. Wait for some to finish, or cancel them.`,
  open: () => 'Too many open tasks on this server. Try again later.',
  'bytes-per-owner': ({ maxBytesPerOwner }) =>
    `Task data limit reached: a caller can keep ${maxBytesPerOwner} bytes. Wait for open tasks to finish, or cancel them.`,
  bytes: () => 'Task data limit of this server reached. Try again later.',
}

const encoder = new TextEncoder()
const scratch = new Uint8Array(3 * 1024)

/** Returns the size of the texts in UTF-8. */
export function bytesOf(...texts: readonly string[]): number {
  let bytes = 0
  for (const text of texts) {
    // Avoids an allocation for short texts: three bytes per UTF-16 unit are always enough.
    bytes += text.length <= 1024 ? encoder.encodeInto(text, scratch).written : encoder.encode(text).length
  }
  return bytes
}
