import type { ModelPreferences } from '../../protocol/sampling.ts'

/** A model that a client can use, with scores from 0 to 1. The default of each score is 0.5. */
export interface ModelChoice {
  readonly name: string
  /** From 0, the cheapest, to 1, the most expensive. */
  readonly cost?: number | undefined
  /** From 0, the slowest, to 1, the fastest. */
  readonly speed?: number | undefined
  /** From 0, the least capable, to 1, the most capable. */
  readonly intelligence?: number | undefined
}

/**
 * Chooses the model that fits the preferences of a server best (2026-07-28 sampling, model preferences).
 *
 * Hints are tried first, in order: a hint matches every model whose name contains it, ignoring case. Among the matching models,
 * or among all if no hint matches, the priorities for cost, speed and intelligence decide. If models are equal, the first wins.
 *
 * @returns The name of the model, or undefined if the server has no preference.
 *
 * @example
 * const models = [
 *   { name: 'small-1', cost: 0.1, speed: 0.9, intelligence: 0.4 },
 *   { name: 'large-1', cost: 0.8, speed: 0.3, intelligence: 0.9 },
 * ]
 * chooseModel({ intelligencePriority: 0.8, costPriority: 0.3 }, models) // 'large-1'
 * chooseModel({ hints: [{ name: 'small' }] }, models) // 'small-1'
 */
export function chooseModel(
  preferences: ModelPreferences | undefined,
  models: readonly (string | ModelChoice)[],
): string | undefined {
  const choices = models.map((model) => (typeof model === 'string' ? { name: model } : model))
  const hinted = byHint(preferences, choices)
  if (hinted) return best(preferences, hinted)?.name
  return hasPriority(preferences) ? best(preferences, choices)?.name : undefined
}

function byHint(preferences: ModelPreferences | undefined, choices: readonly ModelChoice[]): ModelChoice[] | undefined {
  for (const { name } of preferences?.hints ?? []) {
    // An empty hint would match every name.
    const wanted = name?.toLowerCase()
    const fitting = wanted ? choices.filter((choice) => choice.name.toLowerCase().includes(wanted)) : []
    if (fitting.length > 0) return fitting
  }
  return undefined
}

function hasPriority({ costPriority, speedPriority, intelligencePriority }: ModelPreferences = {}): boolean {
  return [costPriority, speedPriority, intelligencePriority].some((priority) => toScore(priority, 0) > 0)
}

function best(preferences: ModelPreferences = {}, choices: readonly ModelChoice[]): ModelChoice | undefined {
  const { costPriority, speedPriority, intelligencePriority } = preferences
  const fit = ({ cost, speed, intelligence }: ModelChoice) =>
    toScore(costPriority, 0) * (1 - toScore(cost, 0.5)) +
    toScore(speedPriority, 0) * toScore(speed, 0.5) +
    toScore(intelligencePriority, 0) * toScore(intelligence, 0.5)
  let chosen: ModelChoice | undefined
  for (const choice of choices) if (!chosen || fit(choice) > fit(chosen)) chosen = choice
  return chosen
}

/** Clamps what the server sent to a number from 0 to 1. */
function toScore(value: unknown, missing: number): number {
  return typeof value === 'number' && !Number.isNaN(value) ? Math.min(1, Math.max(0, value)) : missing
}
