import { matchesAny } from '../glob.ts'
import type { AccessRule, GatewayCaller, IsAllowed } from './options.ts'

/** Compiles access rules. Without rules, everyone who may call the gateway may use everything. */
export function toAccess(rules: readonly AccessRule[] | undefined): IsAllowed {
  if (!rules) return () => true
  return (caller, { server, originalName }) =>
    rules.some(
      (rule) =>
        hasScope(caller, rule) && matchesAny(rule.server ?? '*', server) && matchesAny(rule.tool ?? '*', originalName),
    )
}

function hasScope({ auth }: GatewayCaller, { scope }: AccessRule): boolean {
  return scope === undefined || auth?.scopes.includes(scope) === true
}
