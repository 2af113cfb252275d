import { McpError } from '../errors.ts'
import type { TaskLimits } from './ports.ts'

/** How much is kept: of one owner, or in all. */
export interface TaskUsage {
  readonly open: number
  readonly finished: number
  readonly bytes: number
}

/** What making room needs of a store. Without an owner, all tasks are meant. */
export interface TaskShelf {
  usage(owner?: string): TaskUsage
  /**
   * Removes the task that finished first.
   * @param except A task that stays.
   * @returns False when there is none.
   */
  removeOldestFinished(owner: string | undefined, except: string | undefined): boolean
}

export const noLimits: TaskLimits = {
  maxOpenPerOwner: Number.POSITIVE_INFINITY,
  maxOpen: Number.POSITIVE_INFINITY,
  maxFinishedPerOwner: Number.POSITIVE_INFINITY,
  maxFinished: Number.POSITIVE_INFINITY,
  maxBytesPerOwner: Number.POSITIVE_INFINITY,
  maxBytes: Number.POSITIVE_INFINITY,
}

/** Which limit leaves no room for another task. */
export type Overload = 'open-per-owner' | 'open' | 'bytes-per-owner' | 'bytes'

/** Makes room for a new task. Gives the limit that does not allow it. */
export function admitTask(shelf: TaskShelf, owner: string, bytes: number, limits: TaskLimits): Overload | undefined {
  if (shelf.usage(owner).open >= limits.maxOpenPerOwner) return 'open-per-owner'
  if (shelf.usage().open >= limits.maxOpen) return 'open'
  evictFinished(shelf, owner, limits, { bytes })
  if (shelf.usage(owner).bytes + bytes > limits.maxBytesPerOwner) return 'bytes-per-owner'
  return shelf.usage().bytes + bytes > limits.maxBytes ? 'bytes' : undefined
}

/** Removes finished tasks beyond the limits, those that finished first go first. */
export function evictFinished(
  shelf: TaskShelf,
  owner: string,
  limits: TaskLimits,
  { bytes = 0, except }: { bytes?: number; except?: string } = {},
): void {
  const bounds = [
    { whose: owner, maxFinished: limits.maxFinishedPerOwner, maxBytes: limits.maxBytesPerOwner },
    { whose: undefined, maxFinished: limits.maxFinished, maxBytes: limits.maxBytes },
  ]
  for (const { whose, maxFinished, maxBytes } of bounds) {
    for (;;) {
      const usage = shelf.usage(whose)
      const isOver = usage.finished > maxFinished || usage.bytes + bytes > maxBytes
      if (!isOver || !shelf.removeOldestFinished(whose, except)) break
    }
  }
}

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

/** The size of texts in UTF-8. */
export function bytesOf(...texts: readonly string[]): number {
  let bytes = 0
  for (const text of texts) {
    // Short ones without an allocation: three bytes per UTF-16 unit are always enough.
    bytes += text.length <= 1024 ? encoder.encodeInto(text, scratch).written : encoder.encode(text).length
  }
  return bytes
}
