import { existsSync, readFileSync, statSync } from 'node:fs'
import { isObject, safeJson } from 'tenon/internal'
import { CliError, exitCodes, usageError } from '../exit-codes.ts'
import { type Contract, checkDefinitions } from './contract.ts'
import { sortKeys } from './json.ts'

/** The version of the file format. */
const formatVersion = 1

/** Options of `toSnapshot`. */
export interface SnapshotOptions {
  /** False leaves out the list of resources, which changes all the time on some servers. Default true. */
  readonly resources?: boolean | undefined
}

/** Writes a contract as a text that changes only if the contract does: sorted, and without characters that cannot be seen. */
export function toSnapshot(contract: Contract, { resources = true }: SnapshotOptions = {}): string {
  const { server, revision, instructions } = contract
  const lists = {
    tools: sortBy(contract.tools, ({ name }) => name),
    prompts: sortBy(contract.prompts, ({ name }) => name),
    resourceTemplates: sortBy(contract.resourceTemplates, ({ uriTemplate }) => uriTemplate),
    ...(resources && { resources: sortBy(contract.resources, ({ uri }) => uri) }),
  }
  const sorted = Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, sortKeys(list)]))
  return `${safeJson({ tenonContract: formatVersion, server, revision, instructions, ...sorted })}\n`
}

/** Whether a word of the command line is a snapshot: an existing JSON file with the mark of the format. */
export function readSnapshot(path: string): Contract | undefined {
  if (!/\.json$/i.test(path) || !existsSync(path) || !statSync(path).isFile()) return undefined
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new CliError('invalid-snapshot', `Not valid JSON: ${path}`, { exitCode: exitCodes.usage, cause })
  }
  if (!isObject(value) || value.tenonContract === undefined) return undefined
  if (value.tenonContract !== formatVersion) {
    throw usageError(
      `Unknown version of a snapshot in ${path}: ${String(value.tenonContract)}`,
      'Use a newer version of this command, or write the snapshot again.',
    )
  }
  const { contract, malformed } = checkDefinitions(value)
  const [first] = malformed
  if (first) throw usageError(`Invalid snapshot ${path}: ${first.where}: ${first.reason}`)
  return contract
}

function sortBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, key: keyOf(item) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ item }) => item)
}
