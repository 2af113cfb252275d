import type { Client } from 'tenon/client'
import type { CommonFlags } from './options.ts'
import type { Output } from './output.ts'
import { safeLine, wrap } from './safe-text.ts'
import { describeTarget, openTarget, resolveTarget, type TargetClientOptions, type TargetWords } from './target.ts'

/** Finds the target that the user means, says what a name stands for, and connects. */
export function connectTarget(
  words: TargetWords,
  flags: CommonFlags,
  output: Output,
  options?: TargetClientOptions,
): Promise<Client> {
  const target = resolveTarget(words, flags)
  if (target.source !== undefined) {
    const text = `${target.id} from ${target.source}: ${describeTarget(target)}`
    output.note(...wrap(safeLine(text, 2_000), output.width))
  }
  return openTarget(target, flags, options)
}
