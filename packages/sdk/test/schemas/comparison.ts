import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RevisionId } from 'tenon'
import { schemaFor } from 'tenon/schemas'
import { compileJsonSchema } from 'tenon/server'
import { mutations, type Schema, validValues } from './variants.ts'

/**
 * Where the schemas of `tenon/schemas` differ from the official ones on purpose. They are never more lenient, with one exception.
 *
 * - `_meta` is an object wherever a message has it. The official definitions of single requests and notifications before
 *   2025-11-25, and those of questions of 2026-07-28, leave it out and so accept any value there, although their own definitions
 *   of any request and notification do not.
 * - `JSONValue` of 2026-07-28 is every JSON value. The official schema leaves out null and fractions, which its source has.
 */
function isDeliberate(change: string, ours: boolean, official: boolean): boolean {
  return official && !ours && change.includes('/_meta')
}

/** The official definitions of a revision. */
export function readOfficial(folder: string, revision: RevisionId): Record<string, Schema> {
  const document = JSON.parse(readFileSync(join(folder, `${revision}.json`), 'utf8'))
  const definitions = document.$defs ?? document.definitions
  if (definitions.JSONValue) definitions.JSONValue = {}
  return definitions
}

/** Compares the verdicts on values that either schema accepts, and on those values with one change, down to some level. */
export function compareVerdicts(folder: string, revision: RevisionId, levels: number) {
  const official = readOfficial(folder, revision)
  const own = schemaFor(revision).$defs as Record<string, Schema>
  const limits = { maxSubschemas: 100_000 }
  const differences: string[] = []
  let accepted = 0
  let refused = 0
  for (const name of Object.keys(official)) {
    const theirs = compileJsonSchema(withReferences(official, name), limits)
    const ours = compileJsonSchema(schemaFor(revision, name as never), limits)
    const compare = (value: unknown, change: string) => {
      const [isOurs, isOfficial] = [!ours(value), !theirs(value)]
      if (isOfficial) accepted++
      else refused++
      if (isOurs !== isOfficial && !isDeliberate(change, isOurs, isOfficial))
        differences.push(`${name} with ${change || 'nothing changed'}: ${isOurs ? 'ours accepts' : 'ours refuses'}`)
    }
    for (const value of [...validValues(official[name]!, official), ...validValues(own[name]!, own)]) {
      compare(value, '')
      for (const { change, value: changed } of mutations(value, '', levels)) compare(changed, change)
    }
  }
  return { differences, accepted, refused }
}

/** A schema with the definitions that it refers to. Compiling all of them for each definition would take minutes. */
function withReferences(all: Record<string, Schema>, name: string) {
  const found: Record<string, Schema> = {}
  const add = (each: string) => {
    if (found[each]) return
    found[each] = all[each]!
    for (const [, next] of JSON.stringify(all[each]).matchAll(/"#\/(?:\$defs|definitions)\/(\w+)"/g)) add(next!)
  }
  add(name)
  return { $ref: `#/definitions/${name}`, definitions: found, $defs: found }
}
