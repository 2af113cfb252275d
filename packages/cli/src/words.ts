import type { Command } from 'commander'
import { unknownOption, usageError } from './exit-codes.ts'
import type { TargetWords } from './target.ts'

/** Lets the command of a server have options of its own: those that are not ours belong to it. */
export function addTargetArgument(command: Command, name: string, description: string): void {
  command.argument(`[${name}...]`, description).allowUnknownOption()
}

/** Tells whether the words of a target came after `--`, which the parser removes. */
export function wordsOf(words: readonly string[], program: Command): TargetWords {
  const { rawArgs } = program as Command & { readonly rawArgs?: readonly string[] }
  if (words[0]?.startsWith('-')) throw unknownOption(words[0])
  const at = rawArgs?.indexOf('--') ?? -1
  if (rawArgs === undefined || at === -1) return { words, isCommand: false }
  const after = rawArgs.length - at - 1
  if (after === words.length && after > 0) return { words, isCommand: true }
  throw usageError('Pass either a target, or a command after "--".')
}
