import type { CloseDetail } from '../errors.ts'
import type { AuthInfo } from '../util/auth-info.ts'
import type { ReceivedKind } from './batch.ts'
import type { Endpoint } from './endpoint.ts'
import type { Fault, Params, Prepared, RequestId, RpcErrorBody, RpcMessage } from './message.ts'

/**
 * The port to any channel that carries JSON-RPC messages both ways. A custom transport implements `start`, `send` and
 * `close` and calls `onmessage` and `onclose`; the rest is optional and makes it faster or more informative.
 */
export interface Transport {
  /** Begin to receive. Called once, after the handlers below are set. */
  start(): Promise<void>
  /** Hand over one message (or a batch). May throw or reject when it cannot be delivered. */
  send(message: RpcMessage | RpcMessage[]): Promise<void> | void
  close(): Promise<void>

  /** One parsed message, or an array that may be a batch. `kind` saves the receiver from classifying it again. */
  onmessage?: ((message: unknown, stream?: ReplyStream, kind?: ReceivedKind) => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onclose?: ((detail?: CloseDetail) => void) | undefined

  /** Takes a message that is JSON text already, so that it need not be built as an object first. */
  sendText?(text: string): void
  /**
   * Takes a request of ours, with what HTTP says of it in headers. A rejection fails this request and no other; an
   * answer comes by `onmessage` as ever.
   */
  sendRequest?(text: string, request: OutgoingRequest): Promise<void> | void
  /** Gives a request up without a message, where closing its stream says it. False: the peer must be told. */
  cancelRequest?(id: number): boolean
  /** Something came that is no message: not JSON, not UTF-8, too long. */
  onfault?: ((fault: Fault, stream?: ReplyStream) => void) | undefined
  /** Messages that the peer sent of its own accord may have been lost on the way. */
  ongap?: (() => void) | undefined
  /** The peer sends no more, but can still be answered. */
  onend?: (() => void) | undefined
  /** A person is asked for permission, which takes its time: nothing times out until what this gives is called. */
  onwait?: (() => () => void) | undefined
  /** Tells an HTTP transport which revision was agreed on. */
  setProtocolVersion?(version: string): void
  /** True when `start` may be called again after the connection ended, as with a child process. */
  readonly restartable?: boolean | undefined
  /** Names the place at the other end, so that what was learned about it can be remembered. */
  readonly peerKey?: string | undefined
  /** The place at the other end, for people: a URL, a command line. */
  readonly address?: string | undefined
  /** True on HTTP, where a tool's `x-mcp-header` annotations become headers. */
  readonly readsHeaders?: boolean | undefined
  /** True where only revisions with a handshake can be spoken, as on HTTP+SSE. */
  readonly handshakeOnly?: boolean | undefined
  /** The last of what the peer wrote to stderr. */
  readonly lastStderr?: string | undefined
  /** Text that came in place of messages. */
  readonly strayOutput?: string | undefined
  readonly sessionId?: string | undefined
  /**
   * Identifies the credentials that a request would carry now. Two requests with the same value act for the same user. Leave
   * it out where the credentials never change.
   */
  authorizationContext?(): string | Promise<string>
  /** True where requests may carry credentials that `authorizationContext` does not see, such as cookies. */
  readonly hidesCredentials?: boolean | undefined
  /** Server side: the identity of the peer, where the whole connection has one. Requests over HTTP carry their own. */
  readonly auth?: AuthInfo | undefined
  /** Server side: identifies the peer behind `auth`, so that its tasks and states stay its own. */
  readonly principal?: string | undefined
  /** Server side: the peer is the user who runs this process, as on stdio, so `requiredScopes` does not apply. */
  readonly isLocalUser?: boolean | undefined
  /** Server side: lets go of the streams for messages of no request; the client connects again after `retryMs` (2025-11-25). */
  disconnect?(retryMs: number): void
  /** Called by a server before `start`, on transports that carry many peers and attach a link for each. */
  serves?(server: Endpoint): void
}

/** A request of ours on its way out. */
export interface OutgoingRequest {
  readonly id: number
  readonly method: string
  readonly params: Params | undefined
  /** What goes into headers besides what every request says there, such as mirrored arguments. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** Call it with the authorization context each time the request is sent. */
  readonly onAuthorized?: ((context: string) => void) | undefined
}

/**
 * Where everything about one request of the peer goes: on HTTP the answer to its POST. Where there is only one way for
 * all messages, there is none.
 */
export interface ReplyStream {
  /**
   * False: there is no way for anything but the answer.
   * @param error The error in `text`, if it is an error response.
   */
  sendText(text: string, isLast: boolean, error?: RpcErrorBody): boolean
  /** Answers with a result that is text already. False: it wants the whole answer as text. */
  sendPrepared?(id: RequestId, result: Prepared): boolean
  /** Opens the way for messages before the answer. False: there is none. */
  begin?(): boolean
  /** Nothing more will be sent, not even an answer: the request was cancelled. */
  end(): void
  /** Lets go of the connection before the answer; the client asks for the rest after `retryMs` (2025-11-25). */
  disconnect?(retryMs: number): void
  /** The HTTP request behind it. */
  readonly request?: HttpRequest | undefined
  /** The same under the names that other MCP SDKs use, for programs that read `onmessage` themselves. */
  readonly authInfo?: AuthInfo | undefined
  readonly requestInfo?: { readonly headers: Readonly<Record<string, string>> } | undefined
  /** Which era the request belongs to: on HTTP the headers have a say in it. */
  readonly era?: 'handshake' | 'stateless' | undefined
  /** The revision that a request outside of any session is taken for, where a server keeps no sessions. */
  readonly assumedRevision?: string | undefined
}

/** What a handler may want to know about the HTTP request that brought its call. */
export interface HttpRequest {
  readonly url: string
  /** By name in any case; undefined when it is not there. */
  header(name: string): string | undefined
  /** All of them, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Who is calling, as far as the server's own check found out. */
  readonly principal?: string | undefined
  /** What the token says of the caller, or what an authenticating layer in front of us left on the request. */
  readonly auth?: AuthInfo | undefined
  /** The address of the peer, where the runtime tells it (Node). Behind a proxy this is the proxy. */
  readonly peer?: string | undefined
}
