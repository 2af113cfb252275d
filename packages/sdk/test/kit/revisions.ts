import { type RevisionId, revisionIds } from 'tenon'
import { it } from 'vitest'

export const modern = '2026-07-28' as const
/** The revisions whose Streamable HTTP has sessions. */
export const sessionRevisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const satisfies RevisionId[]
/** The revisions that have Streamable HTTP. */
export const httpRevisions = [...sessionRevisions, modern] as const satisfies RevisionId[]
export type HttpRevision = (typeof httpRevisions)[number]
/** Oldest first. */
export const handshakeRevisions: readonly RevisionId[] = revisionIds.filter((id) => id !== modern).sort()
/** Oldest first. */
export const allRevisions: readonly RevisionId[] = [...handshakeRevisions, modern]

/** Registers a test for each of the given revisions. */
export function eachRevision<R extends RevisionId>(
  which: readonly R[],
  title: string,
  body: (revision: R) => Promise<void>,
  run: (title: string, body: () => Promise<void>) => void = it,
): void {
  for (const revision of which) run(`${revision}: ${title}`, () => body(revision))
}

/** Registers a test for every revision, or for the given ones. */
export function everyRevision(
  title: string,
  body: (revision: RevisionId) => Promise<void>,
  which: readonly RevisionId[] = revisionIds,
): void {
  for (const revision of which) it(`${title} (${revision})`, () => body(revision))
}
