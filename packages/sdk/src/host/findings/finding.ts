/** Something suspicious in a text of a server, in arguments, or in a command. A hint for the user, not a proof. */
export interface Finding {
  readonly rule: FindingRule
  /** `high`: the action is held until the user approves it, even if the policy allows it. `low`: shown only. */
  readonly severity: 'high' | 'low'
  /** Where it is, such as `tool files_read, description`. */
  readonly where: string
  /** One sentence for the user. */
  readonly message: string
  /** The suspicious part, with invisible characters made visible. */
  readonly excerpt: string
}

export type FindingRule =
  /** Invisible or direction-changing characters. */
  | 'hidden-text'
  /** Letters that look like others. */
  | 'look-alike'
  /** Text that addresses the model instead of describing the tool. */
  | 'instructions'
  /** A tool that has, or nearly has, the name of a tool of another server. */
  | 'shadowing'
  /** A key, token or password. */
  | 'secret'
  /** A path to credentials, or a request for passwords, keys, seed phrases or card numbers. */
  | 'credentials'
  /** Permissions that are far wider than what the tools of a server do. */
  | 'wide-scope'
  /** Data of one server in the arguments for another. */
  | 'data-flow'
  /** The address of cloud metadata, of this machine or of a private network. */
  | 'private-address'
  /** A command that can do harm, or arguments that a shell would interpret. */
  | 'dangerous-command'
  /** A command that has none of the usual forms, or a variable that can change which code it runs. Nobody but a person can judge it. */
  | 'unknown-launcher'
  /** A path outside of the roots. */
  | 'outside-roots'
  /** A value that is too long or too deep to inspect completely, or a text that cannot be decoded. Always `high`. */
  | 'not-inspected'
