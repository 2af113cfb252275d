import { isObject } from '../../util/objects.ts'
import { matchesAny } from '../glob.ts'
import type { AccessRule, GatewayCaller, GatewayOptions, IsAllowed } from './options.ts'

/** Compiles access rules. Without rules, everyone who may call the gateway may use everything. */
export function toAccess(access: GatewayOptions['access']): IsAllowed {
  if (access === undefined) return () => true
  if (typeof access === 'function') {
    // A promise is not `true`: a function that answers later allows nothing.
    return (caller, { server, originalName }) => access(caller, { server, name: originalName || undefined }) === true
  }
  checkRules(access)
  return (caller, { server, originalName }) =>
    access.some(
      (rule) =>
        hasScope(caller, rule) && matchesAny(rule.server ?? '*', server) && matchesAny(rule.tool ?? '*', originalName),
    )
}

function hasScope({ auth }: GatewayCaller, { scope }: AccessRule): boolean {
  if (scope === undefined) return true
  // A text would match parts of other scopes.
  return Array.isArray(auth?.scopes) && auth.scopes.includes(scope)
}

const members = ['scope', 'server', 'tool']

/** A rule with a misspelt member would allow more than it says: `{ scopes: ['admin'] }` would be a rule for everyone. */
function checkRules(access: unknown): void {
  if (!Array.isArray(access)) {
    throw new TypeError('access must be a list of rules or a function. Pass [{ scope, server, tool }], for example.')
  }
  access.forEach((rule: unknown, index) => {
    const where = `access[${index}]`
    if (!isObject(rule)) throw new TypeError(`${where} must be an object such as { scope: 'admin', server: 'ops' }.`)
    const unknown = Object.keys(rule).find((name) => !members.includes(name))
    if (unknown !== undefined)
      throw new TypeError(`${where}.${unknown} is not a member of a rule. Members are: ${members.join(', ')}.`)
    if (rule.scope !== undefined && (typeof rule.scope !== 'string' || rule.scope === ''))
      throw new TypeError(`${where}.scope must be the name of one scope. For several, write several rules.`)
    for (const name of ['server', 'tool'] as const) {
      const texts = [rule[name] ?? '*'].flat()
      if (texts.length === 0 || !texts.every((text) => typeof text === 'string' && text !== ''))
        throw new TypeError(`${where}.${name} must be a text or a list of texts.`)
    }
  })
}
