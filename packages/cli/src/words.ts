import type { Command } from 'commander'
import { UnknownOption, usageError } from './exit-codes.ts'
import type { TargetWords } from './target.ts'

/** Lets the command of a server have options of its own: those that are not ours belong to it. */
export function addTargetArgument(command: Command, name: string, description: string): void {
  command.argument(`[${name}...]`, description).allowUnknownOption()
}

/** The words of a command that has a target and further arguments. */
export interface CommandWords {
  readonly target: TargetWords
  /** The other words, in order. */
  readonly rest: readonly string[]
}

/**
 * Separates the target from the other words: it is the command after `--`, otherwise the first word.
 * @throws CliError if `--` is there without a command
 */
export function splitWords(words: readonly string[], program: Command): CommandWords {
  const { rawArgs = [] } = program as Command & { readonly rawArgs?: readonly string[] }
  const at = rawArgs.indexOf('--')
  if (at === -1) {
    const isFirstOfMany = words.length > 1
    return { target: { words: words.slice(0, 1), isCommand: false, isFirstOfMany }, rest: words.slice(1) }
  }
  const after = rawArgs.slice(at + 1)
  if (after.length === 0) throw usageError('There is no command after "--".')
  return { target: { words: after, isCommand: true }, rest: words.slice(0, words.length - after.length) }
}

/** Tells whether the words of a target came after `--`, which the parser removes. */
export function wordsOf(words: readonly string[], program: Command): TargetWords {
  const { rawArgs } = program as Command & { readonly rawArgs?: readonly string[] }
  if (words[0]?.startsWith('-')) throw new UnknownOption(words[0])
  const at = rawArgs?.indexOf('--') ?? -1
  if (rawArgs === undefined || at === -1) return { words, isCommand: false }
  const after = rawArgs.length - at - 1
  if (after === words.length && after > 0) return { words, isCommand: true }
  throw usageError('Pass either a target, or a command after "--".')
}
