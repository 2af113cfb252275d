import type { ElicitParams } from '../protocol/elicitation.ts'
import type { Root } from '../protocol/roots.ts'
import type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
import type { Tool } from '../protocol/tools.ts'
import type { DefinitionChange } from './definition-diff.ts'
import type { Finding } from './findings/finding.ts'

/** How far a server is trusted. The annotations of an untrusted server are ignored. */
export type Trust = 'trusted' | 'untrusted'

/** The server that an action belongs to. */
export interface ActionServer {
  /** The id that the user chose in the configuration. Never the name that the server gives itself. */
  readonly id: string
  readonly trust: Trust
  /** The URL, or the complete command line. */
  readonly address: string
}

/** Data of one server that is about to go to another. */
export interface DataFlow {
  /** The id of the server that the data came from. */
  readonly from: string
  /** Where the data is in the arguments, such as `body.text`. */
  readonly path: string
  /** The beginning of the data. */
  readonly excerpt: string
}

/** Starts a server process, or connects to a URL. */
export interface ConnectAction {
  readonly kind: 'connect'
  readonly server: ActionServer
  /** The complete command line, or the URL. Show all of it. */
  readonly target: string
  /** Names of environment variables that the process gets beyond the minimal ones. Values may be secrets. */
  readonly env: readonly string[]
  /** The command line or URL that was approved before; undefined at first use. */
  readonly before: string | undefined
}

/** Uses the definitions of a server: at first use, or after they changed. */
export interface DefinitionsAction {
  readonly kind: 'definitions'
  readonly server: ActionServer
  /** Compared with what was approved. At first use, everything was added. */
  readonly changes: readonly DefinitionChange[]
  /** False if the user approved definitions of this server before. */
  readonly isFirstUse: boolean
}

/** Calls a tool. */
export interface ToolAction {
  readonly kind: 'tool'
  readonly server: ActionServer
  /** As the server defines it. */
  readonly tool: Tool
  /** The name in the catalog of the host. */
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Data of other servers in the arguments. */
  readonly flows: readonly DataFlow[]
}

/** Reads a resource, for example to give it to a model. */
export interface ResourceAction {
  readonly kind: 'resource'
  readonly server: ActionServer
  readonly uri: string
}

/** Gets a prompt. */
export interface PromptAction {
  readonly kind: 'prompt'
  readonly server: ActionServer
  readonly prompt: string
  readonly arguments: Readonly<Record<string, string>>
}

/** Reveals folders of the user to a server. */
export interface RootsAction {
  readonly kind: 'roots'
  readonly server: ActionServer
  readonly roots: readonly Root[]
}

/** Lets a server use the model. */
export interface SamplingAction {
  readonly kind: 'sampling'
  readonly server: ActionServer
  readonly request: CreateMessageParams
}

/** Sends a message of the model to the server that requested it. */
export interface SamplingResultAction {
  readonly kind: 'sampling-result'
  readonly server: ActionServer
  readonly request: CreateMessageParams
  readonly result: CreateMessageResult
}

/** Shows a form or a URL of a server to the user. */
export interface ElicitationAction {
  readonly kind: 'elicitation'
  readonly server: ActionServer
  readonly request: ElicitParams
}

/** Something that the host does for a user or a server, and that needs a decision first. */
export type HostAction =
  | ConnectAction
  | DefinitionsAction
  | ToolAction
  | ResourceAction
  | PromptAction
  | RootsAction
  | SamplingAction
  | SamplingResultAction
  | ElicitationAction

/** `ask` asks the user by `approve`. */
export type Decision = 'allow' | 'deny' | 'ask'

/** A question to the user. */
export interface ApprovalRequest<A extends HostAction = HostAction> {
  readonly action: A
  /** Why the user is asked, in one sentence. */
  readonly reason: string
  /** What is suspicious about it. Show it, with the spans marked. */
  readonly findings: readonly Finding[]
  /** Identifies what is shown. A grant is valid for this digest only. */
  readonly digest: string
  /** The answers that make sense here, besides `deny`. */
  readonly choices: readonly GrantDuration[]
  /** Aborts when the question is obsolete. */
  readonly signal: AbortSignal
  /** @internal The call that needs the approval. */
  readonly origin?: unknown
}

/** How long an approval is valid. */
export type GrantDuration = 'once' | 'session' | 'always'

/** What the user answered. For sampling, the user can also edit the request or the result. */
export type Approval =
  | GrantDuration
  | 'deny'
  | { readonly decision: GrantDuration | 'deny'; readonly edited?: CreateMessageParams | CreateMessageResult }

/** Asks the user. Your user interface implements it; `terminalApproval()` is one for the terminal. */
export type Approve = (request: ApprovalRequest) => Promise<Approval>
