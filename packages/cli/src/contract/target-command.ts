import type { Command } from 'commander'
import { safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import {
  addColorOption,
  addJsonOption,
  addRevisionOption,
  addTargetOptions,
  type ConfigFlags,
  type ConnectionFlags,
  type OutputFlags,
  type RevisionFlags,
} from '../options.ts'
import type { Output } from '../output.ts'
import { describeTarget, resolveTarget, type Target } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

/** The options of every command that examines one server. */
export type TargetFlags = OutputFlags & ConfigFlags & ConnectionFlags & RevisionFlags

/** Adds the target and the common options to a command that examines one server. */
export function addTarget(command: Command): void {
  addTargetArgument(command, 'target', 'a URL, a command, a file, or the name of a server in a config file')
  addCommonOptions(command)
}

/** Adds the options that all commands that examine servers have. */
export function addCommonOptions(command: Command): void {
  addTargetOptions(command)
  addRevisionOption(command)
  addJsonOption(command)
  addColorOption(command)
}

/** Finds the target of a command line. If the user typed only a name, says what it stands for. */
export function findTarget(words: readonly string[], flags: TargetFlags, program: Command, output: Output): Target {
  const target = resolveTarget(wordsOf(words, program), flags)
  noteSource(target, output)
  return target
}

/** Prints what the name of a server in a config file stands for. */
export function noteSource(target: Target, output: Output): void {
  if (target.source === undefined) return
  output.note(...wrap(safeLine(`${target.id} from ${target.source}: ${describeTarget(target)}`, 2_000), output.width))
}
