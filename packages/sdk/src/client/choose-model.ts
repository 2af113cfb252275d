import type { ModelPreferences } from '../protocol/types.ts'

/**
 * The model that a server's hints ask for. They are taken in order, and each as a part of a name, in capitals or not; the
 * first that fits a model decides. Undefined when none does: the choice is then the client's, by priorities if it likes.
 *
 * ```ts
 * chooseModel({ hints: [{ name: 'sonnet' }, { name: 'claude' }] }, ['gpt-5', 'claude-haiku-4']) // 'claude-haiku-4'
 * ```
 */
export function chooseModel(preferences: ModelPreferences | undefined, models: readonly string[]): string | undefined {
  for (const { name } of preferences?.hints ?? []) {
    // An empty hint is a part of every name and so says nothing.
    const wanted = name?.toLowerCase()
    const model = wanted ? models.find((candidate) => candidate.toLowerCase().includes(wanted)) : undefined
    if (model !== undefined) return model
  }
  return undefined
}
