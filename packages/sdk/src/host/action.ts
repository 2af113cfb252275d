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
  /** Differs if values of variables that can choose or load code differ. Undefined if there are none. */
  readonly envDigest?: string | undefined
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
  readonly server: ActionServer
  /**
   * The servers whose data this session has received, except the destination: what is sent may contain that data, in whatever
   * form. Rules with `from` that deny or ask go by this.
   */
  readonly taint?: readonly string[] | undefined
  readonly kind: 'tool'
  /** As the server defines it. */
  readonly tool: Tool
  /** The name in the catalog of the host. */
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Data of other servers that was recognized in the arguments. A hint: data can be rewritten so that it is not. */
  readonly flows: readonly DataFlow[]
}

/** Reads a resource, for example to give it to a model. */
export interface ResourceAction {
  readonly server: ActionServer
  /** As for `ToolAction`. */
  readonly taint?: readonly string[] | undefined
  readonly kind: 'resource'
  readonly uri: string
}

/** Gets a prompt. */
export interface PromptAction {
  readonly server: ActionServer
  /** As for `ToolAction`. */
  readonly taint?: readonly string[] | undefined
  readonly kind: 'prompt'
  /** The name that the server gives the prompt. */
  readonly prompt: string
  /** The name in the catalog of the host. */
  readonly name?: string | undefined
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
  readonly server: ActionServer
  /** As for `ToolAction`. */
  readonly taint?: readonly string[] | undefined
  readonly kind: 'sampling'
  readonly request: CreateMessageParams
  /** Other servers whose data may be in the context that was added to the request. */
  readonly contextFrom?: readonly string[] | undefined
}

/** Sends a message of the model to the server that requested it. */
export interface SamplingResultAction {
  readonly server: ActionServer
  /** As for `ToolAction`. */
  readonly taint?: readonly string[] | undefined
  readonly kind: 'sampling-result'
  readonly request: CreateMessageParams
  readonly result: CreateMessageResult
  /** As for `SamplingAction`. */
  readonly contextFrom?: readonly string[] | undefined
}

/** Shows a form or a URL of a server to the user. */
export interface ElicitationAction {
  readonly server: ActionServer
  /** As for `ToolAction`. */
  readonly taint?: readonly string[] | undefined
  readonly kind: 'elicitation'
  readonly request: ElicitParams
}

/** Hands what a server sent on to the model, the program or the caller of a gateway. */
export interface ResultAction {
  readonly kind: 'result'
  readonly server: ActionServer
  /** What the server was asked for. */
  readonly of: 'tool' | 'resource' | 'prompt' | 'completion'
  /** The name of the tool or prompt as its server defines it, or the URI of the resource. */
  readonly name: string
  /** The name of the tool or prompt in the catalog of the host. */
  readonly catalogName?: string | undefined
  /** What is suspicious about the result. */
  readonly findings: readonly Finding[]
  /** The result, or the message and data of an error. */
  readonly result: unknown
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
  | ResultAction

/** `ask` asks the user by `approve`. `redact` replaces secrets, and is for results only. */
export type Decision = 'allow' | 'deny' | 'ask' | 'redact'

/** A question to the user. */
export interface ApprovalRequest<A extends HostAction = HostAction> {
  readonly action: A
  /** Why the user is asked, in one sentence. */
  readonly reason: string
  /** What is suspicious about it. Show it, with the spans marked. */
  readonly findings: readonly Finding[]
  /** Identifies what is shown. A grant is valid for this digest only. */
  readonly digest: string
  /** The answers that make sense here, besides `deny`, shortest first. Another duration counts as the first. */
  readonly choices: readonly GrantDuration[]
  /** Aborts when the question is obsolete. */
  readonly signal: AbortSignal
  /** @internal The call that needs the approval. */
  readonly origin?: unknown
}

/** How long an approval is valid. Connections and definitions are approved for all sessions, so they have their own. */
export type GrantDuration =
  /** For this action: the next one is asked about again. */
  | 'once'
  /** Until the session ends: that of the host when it closes, that of a caller of a gateway before. */
  | 'session'
  /** For connections and definitions: until the host closes. */
  | 'until-close'
  /** Until it is revoked, expires, or what was shown changes. It is stored. */
  | 'always'

/** What the user answered. For sampling, the user can also edit the request or the result. */
export type Approval =
  | GrantDuration
  | 'deny'
  | {
      readonly decision: GrantDuration | 'deny'
      /** For sampling: what the user made of the request or the result. */
      readonly edited?: CreateMessageParams | CreateMessageResult | undefined
      /** What decided if no person was asked, such as an option of your program. The audit log then names it instead of the user. */
      readonly by?: string | undefined
    }

/** Asks the user. Your user interface implements it; `terminalApproval()` is one for the terminal. */
export type Approve = (request: ApprovalRequest) => Promise<Approval>
