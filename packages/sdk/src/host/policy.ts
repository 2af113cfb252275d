import type { Decision, HostAction } from './action.ts'
import type { FindingRule } from './findings/finding.ts'

/**
 * A rule of a policy. The first rule that matches an action decides; without one, the user is asked. `*` in a text matches any
 * text.
 *
 * `{ decide: 'allow' }` covers tool calls, resources, prompts, roots, sampling and questions, without data of other servers in
 * them. It does not cover connections, definitions and results, which need `kind`, nor data of other servers, which needs `from`.
 * No rule covers what looks dangerous: the user is asked about it.
 *
 * @example
 * [
 *   { server: 'files', tool: 'read_*', decide: 'allow' },
 *   { tool: 'delete_*', decide: 'ask' },
 *   { annotations: { readOnlyHint: true }, decide: 'allow' }, // matches tools of trusted servers only
 *   { from: 'mail', server: 'web', decide: 'deny' },
 *   { finding: 'secret', decide: 'redact' }, // in results
 * ]
 *
 * @example
 * // Everything that rules can allow.
 * [
 *   { kind: ['connect', 'definitions'], decide: 'allow' },
 *   { decide: 'allow' },
 *   { from: '*', decide: 'allow' },
 * ]
 */
export interface PolicyRule {
  readonly decide: Decision
  /** Rules without it cover neither results nor, if they allow, `connect` and `definitions`. */
  readonly kind?: HostAction['kind'] | readonly HostAction['kind'][] | undefined
  /** The id of a server. */
  readonly server?: string | readonly string[] | undefined
  /**
   * The name of a tool: as its server defines it, or as it is in the catalog (`files_read`). In a rule that allows, a pattern for
   * names of the catalog must begin with the id of the server: `files_*`.
   */
  readonly tool?: string | readonly string[] | undefined
  /** The name of a prompt, as for `tool`. */
  readonly prompt?: string | readonly string[] | undefined
  /** The URI of a resource. */
  readonly resource?: string | readonly string[] | undefined
  /** Hints that the tool must have. Never matches a tool of an untrusted server. */
  readonly annotations?: Readonly<Record<string, boolean>> | undefined
  /** Arguments of the tool, by path: `{ 'path': '/srv/public/*', 'options.mode': /^r/ }`. Each must be there and match. */
  readonly arguments?: Readonly<Record<string, string | RegExp>> | undefined
  /**
   * The server that data came from. A rule that denies or asks matches everything that would go to another server after the
   * session received anything from this one. A rule that allows matches arguments in which only data of this server was
   * recognized; without `from`, it does not cover data of other servers.
   */
  readonly from?: string | readonly string[] | undefined
  /**
   * What was found in a result. The rule is about results then. A rule that allows matches only if everything with the severity
   * `high` is named.
   */
  readonly finding?: FindingRule | readonly FindingRule[] | undefined
}

/** Decides by code. Return undefined to leave the decision to the next rule. */
export type PolicyFunction = (action: HostAction) => Decision | undefined | Promise<Decision | undefined>

export type Policy = PolicyFunction | readonly (PolicyRule | PolicyFunction)[]
