import { warnOnce } from '../util/warn.ts'
import type { Revision } from './revision.ts'

/**
 * Warns, once per process and feature, about a feature that every revision in use deprecates (2026-07-28 deprecated features). Whoever
 * still speaks an earlier revision has to support the feature there, and is not bothered.
 * @param used Whether each feature is used, by name.
 */
export function warnIfDeprecated(revisions: readonly Revision[], used: Readonly<Record<string, unknown>>): void {
  for (const feature in used) {
    if (!used[feature] || !revisions.every(({ deprecates }) => deprecates?.includes(feature))) continue
    warnOnce(
      `deprecated ${feature}`,
      `${feature} is deprecated in ${revisions.map(({ id }) => id).join(', ')}, the only revision in use. New implementations should do without it.`,
    )
  }
}
