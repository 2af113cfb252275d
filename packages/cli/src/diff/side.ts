import { existsSync } from 'node:fs'
import { safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { type Contract, readContract } from '../contract/contract.ts'
import { readSnapshot } from '../contract/snapshot.ts'
import { noteSource, type TargetFlags } from '../contract/target-command.ts'
import { usageError } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { openTarget, resolveTarget, type Target } from '../target.ts'

/** Reads one side of a comparison: a snapshot file, or a server, whose command is one quoted word. */
export async function readSide(word: string, flags: TargetFlags, output: Output): Promise<Contract> {
  const snapshot = readSnapshot(word)
  if (snapshot) return snapshot
  const target = findSide(word, flags)
  noteSource(target, output)
  await using client = await openTarget(target, flags)
  const { contract, malformed } = await readContract(client)
  for (const { where, reason } of malformed)
    output.note(...wrap(safeLine(`Left out: ${where}: ${reason}`), output.width))
  return contract
}

function findSide(word: string, flags: TargetFlags): Target {
  const words = existsSync(word) ? [word] : splitCommand(word)
  return resolveTarget({ words, isCommand: words.length > 1 }, flags)
}

/** Splits a command line into words. Quotes keep words together; nothing else is special, and no shell is used. */
export function splitCommand(line: string): string[] {
  const words: string[] = []
  for (const { 0: match } of line.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g))
    words.push(match.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'))
  if (words.length === 0) throw usageError('A server is empty.', 'Pass a snapshot file, or a target.')
  return words
}
