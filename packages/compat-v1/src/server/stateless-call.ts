import type { InputRequest, LoggingLevel, ResultObject } from 'tenon'
import type { Caller, Context } from 'tenon/server'
import type { EngineRequestOptions } from '../shared/engine.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import { ExchangeCall } from '../shared/link-engine.ts'

const questions: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])

/** Notifications that revisions without a handshake do not have. */
const unknownNotifications: ReadonlySet<string> = new Set([
  'notifications/elicitation/complete',
  'notifications/tasks/status',
  'notifications/cancelled',
])

/** A request of a revision without a handshake: everything that goes to the client belongs to it. */
export class StatelessCall extends ExchangeCall {
  private readonly _ctx: Context
  private readonly _sessionId: string | undefined

  /** @param sessionId What handlers see as the session, on a transport where they expect one. */
  constructor(ctx: Context, sessionId: string | undefined) {
    super(ctx.exchange!)
    this._ctx = ctx
    this._sessionId = sessionId
  }

  override get sessionId(): string | undefined {
    return this._sessionId ?? super.sessionId
  }

  /** The client that sent the request. */
  get caller(): Caller {
    return this._ctx.caller
  }

  /** Asks the client. Without an answer this rejects; the handler runs again when the client has answered. */
  async ask(question: InputRequest, { signal }: EngineRequestOptions): Promise<ResultObject> {
    const { method } = question as { method: string }
    if (method === 'ping') return {}
    if (!questions.has(method)) {
      throw new McpError(
        ErrorCode.MethodNotFound,
        `A server cannot send ${method} to a client of revision ${this.caller.revision}`,
      )
    }
    return this._ctx.ask(question, { signal })
  }

  notify(method: string, params: object | undefined): void {
    if (method === 'notifications/message') return this._log(params as LogParams)
    if (!unknownNotifications.has(method)) this._ctx.notify(method, params as Record<string, unknown>)
  }

  /** The request says which messages its sender wants; without a level there are none. */
  private _log({ level, data, logger }: LogParams): void {
    this._ctx.log[level]?.(data, logger)
  }
}

/** The first request of a client, for a program that only wants to know the client. */
export class IntroducingCall extends StatelessCall {
  override async ask({ method }: InputRequest): Promise<ResultObject> {
    throw new McpError(
      ErrorCode.MethodNotFound,
      `A server cannot send ${method} to a client of revision ${this.caller.revision} outside of a request`,
    )
  }
}

interface LogParams {
  level: LoggingLevel
  data: unknown
  logger?: string | undefined
}
