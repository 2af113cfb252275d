import type { JsonObject } from '../../util/objects.ts'
import { composeRevisions, type Revision, type RevisionId } from '../revision.ts'
import { revision as r2024_11_05 } from './2024-11-05.ts'
import { revision as r2025_03_26 } from './2025-03-26.ts'
import { revision as r2025_06_18 } from './2025-06-18.ts'
import { revision as r2025_11_25 } from './2025-11-25.ts'
import { revision as r2026_07_28 } from './2026-07-28.ts'

/** Every revision, newest first. */
export const revisions: readonly Revision[] = composeRevisions([
  r2026_07_28,
  r2025_11_25,
  r2025_06_18,
  r2025_03_26,
  r2024_11_05,
])

/** The revisions of a server that sends what its handlers return, and serves its methods to clients of every revision. */
const revisionsAsIs: readonly Revision[] = revisions.map((revision) =>
  revision.era === 'handshake' ? withoutRules(revision) : revision,
)

/** The revision of an HTTP request without a version header and without a session (2025-06-18 transports). */
export const revisionWithoutHeader: RevisionId = '2025-03-26'

export const revisionIds: readonly RevisionId[] = revisions.map((revision) => revision.id)

/**
 * The chosen revisions, newest first. Throws if none is chosen, or one is unknown.
 * @param results `as-is`: those with a handshake adapt nothing.
 */
export function chooseRevisions(
  ids: readonly RevisionId[] | undefined,
  results: 'adapted' | 'as-is' = 'adapted',
): readonly Revision[] {
  const all = results === 'as-is' ? revisionsAsIs : revisions
  if (!ids) return all
  const unknown = ids.find((id) => !revisionIds.includes(id))
  if (unknown !== undefined || ids.length === 0) {
    const what = unknown === undefined ? '`revisions` is empty' : `Unknown protocol revision: ${unknown}`
    throw new TypeError(`${what}. Choose from ${revisionIds.join(', ')}.`)
  }
  return all.filter((revision) => ids.includes(revision.id))
}

function withoutRules(revision: Revision): Revision {
  const same = (_method: string, body: JsonObject) => body
  return { ...revision, lacks: () => false, toResult: same, toParams: same }
}
