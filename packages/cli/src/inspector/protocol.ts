import type { InputRequest, RevisionId, Task } from 'tenon'

/**
 * What the inspector's page and its backend say to each other. The page never speaks MCP and never sees a token.
 *
 * State is a log of events: the backend appends, and every view of the page is derived from it. A saved transcript is such a
 * log, so it opens in the same page without a backend.
 *
 * | Request | Body, answer |
 * |---|---|
 * | `GET /api/events?after=seq` | The log as JSON lines, and every later event as it happens |
 * | `GET /api/events/:seq` | One event, complete, if the log has it shortened |
 * | `GET /api/transcript` | `SavedTranscript`: the log, with complete messages as far as they are kept |
 * | `GET /api/configured` | `ConfiguredServer[]`: servers of the config files that were found |
 * | `POST /api/servers` | `ConnectRequest` → `{ server }` |
 * | `POST /api/servers/:server/connect`, `/disconnect` | Connects again, or disconnects |
 * | `DELETE /api/servers/:server` | Disconnects and removes it from the page |
 * | `PUT /api/servers/:server/roots` | `Root[]` → the roots that the server sees from now on |
 * | `POST /api/servers/:server/operations` | `OperationRequest` → `{ operation }` |
 * | `POST /api/operations/:operation/cancel` | Cancels it |
 * | `POST /api/questions/:question/answer` | `QuestionAnswer` |
 * | `POST /api/servers/:server/login` | Begins the OAuth login; `auth` events follow → `{ url? }` to open |
 *
 * Every request needs `Authorization: Bearer <secret of this start>`. Errors are `{ error: { code, message, hint? } }`.
 */

/**
 * An event of the log. `seq` starts at 1 and increases; `at` is in milliseconds since 1970, with fractions. A page that opens
 * late, or reads slowly, misses old events that only report something: the log keeps those that describe the current state.
 */
export type InspectorEvent = { readonly seq: number; readonly at: number } & InspectorFact

/** The file that "save" writes and "load" reads. */
export interface SavedTranscript {
  readonly format: 'tenon-inspector'
  readonly version: 1
  readonly events: readonly InspectorEvent[]
}

export type InspectorFact =
  | ServerAdded
  | ServerState
  | ServerRemoved
  | WireMessage
  | HttpExchange
  | StderrText
  | ListRead
  | OperationStarted
  | OperationProgress
  | OperationEnded
  | QuestionAsked
  | QuestionEnded
  | LogMessage
  | ChangeAnnounced
  | TaskChanged
  | AuthStep
  | RootsSet
  | Notice
  | LeftOut

interface OfServer {
  /** The id of the server on this page. */
  readonly server: string
}

export interface ServerAdded extends OfServer {
  readonly kind: 'server-added'
  /** The name in the config file, or one made of the URL or command. */
  readonly name: string
  /** True if the user chose the name, in a config file. Otherwise the page prefers the title that the server gives itself. */
  readonly isNamed?: boolean | undefined
  /** The URL, or the complete command line. */
  readonly address: string
  readonly transport: 'stdio' | 'http' | 'sse' | 'memory'
  /** The revision that was chosen by hand; null for the newest of both sides. */
  readonly revision: RevisionId | null
}

export interface ServerState extends OfServer {
  readonly kind: 'server-state'
  readonly state: 'connecting' | 'ready' | 'closed' | 'failed' | 'unauthorized'
  /** Why it failed. Without one, `unauthorized` means that the user has not logged in yet. */
  readonly error?: ShownError | undefined
  /** Members of a server that is ready. */
  readonly revision?: RevisionId | undefined
  readonly info?: { readonly name: string; readonly version: string; readonly title?: string | undefined } | undefined
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined
  readonly instructions?: string | undefined
  readonly sessionId?: string | undefined
}

export interface ServerRemoved extends OfServer {
  readonly kind: 'server-removed'
}

/** A JSON-RPC message, in the order in which it was sent or received. */
export interface WireMessage extends OfServer {
  readonly kind: 'message'
  readonly direction: 'sent' | 'received'
  /** The message, or its beginning as text if it is large. */
  readonly message: unknown
  readonly bytes: number
  /** True if `message` is a text that was cut. `GET /api/events/:seq` has all of it. */
  readonly isShortened?: boolean | undefined
  /** The HTTP exchange that carried it. */
  readonly http?: string | undefined
  /** The operation that it belongs to, if known. */
  readonly operation?: string | undefined
  /** The revision of the connection, if that was opened to compare revisions. */
  readonly comparedRevision?: RevisionId | undefined
}

/** An HTTP request and, once it is there, its response: the second event with the same `http` has `status`. */
export interface HttpExchange extends OfServer {
  readonly kind: 'http'
  readonly http: string
  readonly method: string
  readonly url: string
  /** Secrets are redacted. */
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly status?: number | undefined
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined
  /** Milliseconds until the head of the response arrived. */
  readonly durationMs?: number | undefined
  readonly error?: string | undefined
  /** True for requests of OAuth: discovery, registration and tokens. */
  readonly isAuth?: boolean | undefined
}

export interface StderrText extends OfServer {
  readonly kind: 'stderr'
  readonly text: string
}

export type ListName = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'

/** A list of the server, read completely. A large one comes in several events, in order. */
export interface ListRead extends OfServer {
  readonly kind: 'list'
  readonly list: ListName
  readonly items: readonly Readonly<Record<string, unknown>>[]
  /** Index of the first item. 0 replaces what was there before. */
  readonly offset: number
  readonly total: number
  /** Why the list could not be read; `items` is what arrived before. */
  readonly error?: ShownError | undefined
}

/** A request that the user started. */
export interface OperationStarted extends OfServer {
  readonly kind: 'operation'
  readonly operation: string
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  /** The revision that it runs on, if it is not the one of the connection. */
  readonly revision?: RevisionId | undefined
  /** Operations that are compared with each other have the same one. */
  readonly comparison?: string | undefined
}

export interface OperationProgress {
  readonly kind: 'progress'
  readonly operation: string
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

export interface OperationEnded {
  readonly kind: 'operation-ended'
  readonly operation: string
  readonly result?: unknown
  readonly error?: ShownError | undefined
  readonly durationMs: number
  /** For tools with an output schema: whether `structuredContent` is valid, and why not. */
  readonly output?: { readonly isValid: boolean; readonly problem?: string | undefined } | undefined
}

/** The server asks the user, the model or for roots. Roots are answered without the user and do not appear. */
export interface QuestionAsked extends OfServer {
  readonly kind: 'question'
  readonly question: string
  readonly request: InputRequest
  readonly operation?: string | undefined
  /** What is suspicious about the URL of a URL elicitation. */
  readonly warnings?: readonly string[] | undefined
}

export interface QuestionEnded {
  readonly kind: 'question-ended'
  readonly question: string
  readonly outcome: 'accept' | 'decline' | 'cancel' | 'answered' | 'withdrawn'
}

export interface LogMessage extends OfServer {
  readonly kind: 'log'
  readonly level: string
  readonly logger?: string | undefined
  readonly data: unknown
}

/** The server announced that a list or a resource changed. Lists are read again by the backend. */
export interface ChangeAnnounced extends OfServer {
  readonly kind: 'changed'
  readonly what: ListName | 'resource'
  readonly uri?: string | undefined
}

export interface TaskChanged extends OfServer {
  readonly kind: 'task'
  readonly task: Task
  readonly operation?: string | undefined
}

/** A step of discovery or login: what was expected and what was found. */
export interface AuthStep extends OfServer {
  readonly kind: 'auth'
  readonly title: string
  readonly outcome: 'ok' | 'warning' | 'failed' | 'waiting'
  readonly expected?: string | undefined
  readonly found?: string | undefined
  readonly http?: string | undefined
  /** Where the user can log in, if this step found it: the issuer of an authorization server. */
  readonly issuer?: string | undefined
  /** The scopes that the server asks for, separated by spaces. */
  readonly scope?: string | undefined
  /** The page where the user logs in, if this step waits for it. */
  readonly url?: string | undefined
}

/** The roots that the server sees from now on. Logged when a connection is opened, and after each change. */
export interface RootsSet extends OfServer {
  readonly kind: 'roots'
  readonly roots: readonly { readonly uri: string; readonly name?: string | undefined }[]
}

/** Something that the client noticed outside of a request: invalid messages, failures in the background. */
export interface Notice extends OfServer {
  readonly kind: 'notice'
  readonly level: 'warning' | 'error'
  readonly text: string
}

/** The server sent more than can be recorded. `count` events are missing at this position. */
export interface LeftOut extends OfServer {
  readonly kind: 'left-out'
  readonly count: number
}

export interface ShownError {
  /** A code of the library, or `peer`. */
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
  /** The JSON-RPC error of the server. */
  readonly rpc?: { readonly code: number; readonly data?: unknown } | undefined
}

export interface ConfiguredServer {
  readonly name: string
  readonly source: string
  readonly address: string
}

/** Connects a server: the words of a target as on the command line, a configured name, or a URL. */
export interface ConnectRequest {
  readonly target: string
  /** The config file of a configured server. */
  readonly source?: string | undefined
  readonly revision?: RevisionId | undefined
  readonly transport?: 'sse' | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface OperationRequest {
  /**
   * `tools/call`, `resources/read`, `resources/subscribe`, `resources/unsubscribe`, `prompts/get`, `completion/complete`,
   * `logging/setLevel`, `ping`, `tasks/cancel`, `list` (reads a list again), or any other method of the protocol.
   */
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
  /** Asks the server to run a tool as a task. */
  readonly asTask?: boolean | undefined
  /** Runs it on a connection of this revision, which is opened for it: to compare revisions. */
  readonly revision?: RevisionId | undefined
  readonly comparison?: string | undefined
}

/** An elicitation has an action and, if accepted, content; a sampling request has a message of the model. */
export type QuestionAnswer =
  | { readonly action: 'accept'; readonly content?: Readonly<Record<string, unknown>> | undefined }
  | { readonly action: 'decline' | 'cancel' }
  | {
      readonly message: {
        readonly role: 'assistant'
        readonly content: unknown
        readonly model: string
        readonly stopReason?: string
      }
    }
