import type { ReceivedKind } from '../jsonrpc/message.ts'
import type { SendOptions } from '../jsonrpc/pending.ts'
import type { LinkTransport, ReplyStream } from '../jsonrpc/transport.ts'
import type { AuthInfo } from './auth-info.ts'
import type { Endpoint } from './endpoint.ts'
import type { HttpRequest } from './http-request.ts'
import type { EraName } from './revision.ts'

/** Trait: is told which revision was negotiated, as HTTP sends it in a header. */
export interface VersionAware {
  setProtocolVersion(version: string): void
}

/** Trait: `start` may be called again after the connection ended, as with a child process. */
export interface Restartable {
  readonly restartable: boolean
}

/** Trait: describes the server at the other end. */
export interface Described {
  /** Identifies the server, so that what was learned about it can be cached. */
  readonly peerKey: string
  /** The server for error messages: a URL, a command line. */
  readonly address: string
}

/** Trait: keeps what a server process wrote, for error messages. */
export interface KeepsOutput {
  /** The last of what it wrote to stderr. */
  readonly lastStderr: string
  /** Text that it printed to stdout in place of messages. */
  readonly strayOutput: string
}

/** Trait: requests have headers, as on HTTP, so a tool's `x-mcp-header` annotations become headers. */
export interface CarriesHeaders {
  readonly readsHeaders: boolean
  /** Whether such headers are sent also on revisions that do not require them. */
  readonly mirrorsAlways?: boolean | undefined
}

/** Trait: only revisions with a handshake are possible, as on HTTP+SSE. */
export interface HandshakeOnly {
  readonly handshakeOnly: boolean
}

/** Trait: sends credentials that may change between requests. */
export interface CarriesCredentials {
  /** Identifies the credentials that a request would carry now. Two requests with the same value act for the same user. */
  authorizationContext(): string | Promise<string>
  /** True if requests may carry credentials that `authorizationContext` does not see, such as cookies. */
  readonly hidesCredentials: boolean
}

/** Trait: the connection belongs to a session. */
export interface HasSession {
  readonly sessionId: string | undefined
}

/** Trait: the whole connection has one identity. Requests over HTTP carry their own. */
export interface HasIdentity {
  readonly auth: AuthInfo | undefined
  /** Identifies the client behind `auth`, so that its tasks and states stay its own. */
  readonly principal: string | undefined
}

/** Trait: the client is the user who runs this process, as on stdio, so `requiredScopes` does not apply. */
export interface LocalUser {
  readonly isLocalUser: boolean
}

/** Trait: can close the connection of a stream that the client reopens after `retryMs` (2025-11-25). */
export interface Disconnectable {
  disconnect(retryMs: number): void
}

/** Trait: the connection can be lost without a sign, as an event stream over a network. */
export interface DiesSilently {
  readonly diesSilently: boolean
}

/** Trait: has a stream that can be lost without a sign. */
export interface ListensQuietly {
  /** How long ago something arrived on the stream; undefined if it is not open. */
  readonly quietMs: number | undefined
}

/** Trait: carries many clients and attaches a link for each. */
export interface CarriesManyPeers {
  /** Called by a server before `start`. */
  /** @internal */
  serves(server: Endpoint): void
  /** @internal Whether it has a client of its own too, whose messages come by `onmessage`. */
  readonly hasOwnPeer?: boolean | undefined
}

/** A transport with every trait that clients use; all of them are optional. */
export interface ClientTransport
  extends LinkTransport,
    Partial<VersionAware>,
    Partial<Restartable>,
    Partial<Described>,
    Partial<KeepsOutput>,
    Partial<CarriesHeaders>,
    Partial<HandshakeOnly>,
    Partial<CarriesCredentials>,
    Partial<ListensQuietly>,
    Partial<HasSession> {}

/** A transport with every trait that servers use; all of them are optional. */
export interface ServerTransport
  extends LinkTransport,
    Partial<HasSession>,
    Partial<HasIdentity>,
    Partial<LocalUser>,
    Partial<Disconnectable>,
    Partial<DiesSilently>,
    Partial<CarriesManyPeers> {}

/** The stream of a request, with what HTTP knows of the request. */
export interface RequestStream extends ReplyStream, Partial<Disconnectable> {
  readonly request?: HttpRequest | undefined
  /** The same under the names that other MCP SDKs use, for programs that set `onmessage` themselves. */
  readonly authInfo?: AuthInfo | undefined
  readonly requestInfo?: { readonly headers: Readonly<Record<string, string>> } | undefined
  /** The era of the request, where headers decide it. */
  readonly era?: EraName | undefined
  /** The revision of a request outside of any session, where a server keeps no sessions. */
  readonly assumedRevision?: string | undefined
}

/** The handler for messages of a transport whose requests come over HTTP. */
export type MessageHandler = (message: unknown, extra?: RequestStream, kind?: ReceivedKind) => void

/** Options of a request that only HTTP uses. */
export interface HttpSendOptions extends SendOptions {
  /** Headers of this request only. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Called with the authorization context each time the request is sent. */
  onAuthorized?: ((context: string) => void) | undefined
  /** Called when the server has accepted the request and answers with a stream. */
  onAccepted?: (() => void) | undefined
  /** Continues the stream of an interrupted request after this event, instead of sending the request. */
  resumptionToken?: string | undefined
  /** Called with the id of each event on the stream of the request. */
  onresumptiontoken?: ((token: string) => void) | undefined
}

/** The transport of a link, with the traits that clients use. */
export function clientTransportOf({ transport }: { readonly transport: LinkTransport }): ClientTransport {
  return transport
}

/** The stream of a request, with what HTTP knows of the request. */
export function requestStreamOf({ stream }: { readonly stream: ReplyStream | undefined }): RequestStream | undefined {
  return stream
}
