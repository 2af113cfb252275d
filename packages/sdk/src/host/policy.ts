import type { Decision, HostAction } from './action.ts'

/**
 * A rule of a policy. The first rule that matches an action decides; without one, the user is asked. `*` in a text matches any
 * text.
 *
 * @example
 * [
 *   { server: 'files', tool: 'read_*', decide: 'allow' },
 *   { tool: 'delete_*', decide: 'ask' },
 *   { annotations: { readOnlyHint: true }, decide: 'allow' }, // matches tools of trusted servers only
 *   { from: 'mail', server: 'web', decide: 'deny' },
 * ]
 */
export interface PolicyRule {
  readonly decide: Decision
  readonly kind?: HostAction['kind'] | readonly HostAction['kind'][] | undefined
  /** The id of a server. */
  readonly server?: string | readonly string[] | undefined
  /** The name of a tool, as its server defines it. */
  readonly tool?: string | readonly string[] | undefined
  readonly prompt?: string | readonly string[] | undefined
  /** The URI of a resource. */
  readonly resource?: string | readonly string[] | undefined
  /** Hints that the tool must have. Never matches a tool of an untrusted server. */
  readonly annotations?: Readonly<Record<string, boolean>> | undefined
  /** Arguments of the tool, by path: `{ 'path': '/srv/public/*', 'options.mode': /^r/ }`. Each must be there and match. */
  readonly arguments?: Readonly<Record<string, string | RegExp>> | undefined
  /** The server that data in the arguments came from. Without it, a rule that allows does not cover data of other servers. */
  readonly from?: string | readonly string[] | undefined
}

/** Decides by code. Return undefined to leave the decision to the next rule. */
export type PolicyFunction = (action: HostAction) => Decision | undefined | Promise<Decision | undefined>

export type Policy = PolicyFunction | readonly (PolicyRule | PolicyFunction)[]
