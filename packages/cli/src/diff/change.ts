/** `breaking`: clients that work today can fail. `compatible`: they keep working. `cosmetic`: only texts changed. */
export type Level = 'breaking' | 'compatible' | 'cosmetic'

/** The levels, the most important first. */
export const levels: readonly Level[] = ['breaking', 'compatible', 'cosmetic']

/** A difference between two contracts. */
export interface Change {
  readonly level: Level
  /** What changed, such as `tool add`. */
  readonly what: string
  /** The part of it, as a JSON Pointer into the definition; empty for all of it. */
  readonly path: string
  readonly message: string
}
