import type { Client } from 'tenon/client'
import { safeLine } from 'tenon/internal'
import { wrap } from './columns.ts'
import type { CommonFlags } from './options.ts'
import type { Output } from './output.ts'
import { ServerOutput } from './server-output.ts'
import { describeTarget, openTarget, resolveTarget, type TargetClientOptions, type TargetWords } from './target.ts'

/** Options of `connectTarget`. */
export interface ConnectTargetOptions extends TargetClientOptions {
  /** Prints lines on stderr, for commands with a progress line. */
  readonly note?: (...lines: string[]) => void
}

/** Finds the target that the user means, says what a name stands for, connects, and shows the stderr of the server. */
export function connectTarget(
  words: TargetWords,
  flags: CommonFlags,
  output: Output,
  { note, ...options }: ConnectTargetOptions = {},
): Promise<Client> {
  const target = resolveTarget(words, flags)
  if (target.source !== undefined) {
    const text = `${target.id} from ${target.source}: ${describeTarget(target)}`
    output.note(...wrap(safeLine(text, 2_000), output.width))
  }
  return openTarget(target, flags, { ...options, serverOutput: new ServerOutput(output, note) })
}
