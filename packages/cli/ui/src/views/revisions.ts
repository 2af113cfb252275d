import type { RevisionId } from 'tenon'

/** The revisions of the protocol, newest first. */
export const revisions: readonly RevisionId[] = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

export function toRevision(text: string): RevisionId | undefined {
  return revisions.find((revision) => revision === text)
}
