import type { Command } from 'commander'
import { usageError } from './exit-codes.ts'
import type { TargetWords } from './target.ts'

/** Tells whether the words of a target came after `--`, which the parser removes. */
export function wordsOf(words: readonly string[], program: Command): TargetWords {
  const { rawArgs } = program as Command & { readonly rawArgs?: readonly string[] }
  const at = rawArgs?.indexOf('--') ?? -1
  if (rawArgs === undefined || at === -1) return { words, isCommand: false }
  const after = rawArgs.length - at - 1
  if (after === words.length && after > 0) return { words, isCommand: true }
  throw usageError('Pass either a target, or a command after "--".')
}
