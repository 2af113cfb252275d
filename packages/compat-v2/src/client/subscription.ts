import { isObject } from 'tenon/internal'
import { DEFAULT_REQUEST_TIMEOUT_MSEC, SUBSCRIPTION_ID_META_KEY } from '../core/constants.ts'
import type { RequestOptions } from '../core/context.ts'
import { SdkError, SdkErrorCode } from '../core/errors.ts'
import type { Notification, SubscriptionFilter } from '../core/types.ts'
import { toSdkError } from './to-sdk-error.ts'

/** Why a subscription ended: this side closed it, the server closed it, or the stream was lost. */
export type SubscriptionEnd = 'local' | 'graceful' | 'remote'

/** An open `subscriptions/listen` stream. Its notifications go to the handlers of the client. */
export interface McpSubscription {
  /** What the server agreed to send. */
  readonly honoredFilter: SubscriptionFilter
  close(): Promise<void>
  /** Resolves when the subscription has ended. */
  readonly closed: Promise<SubscriptionEnd>
}

/** Sends `subscriptions/listen`. Resolves when the server ends the subscription, rejects when the stream is lost. */
type SendListen = (options: { signal: AbortSignal; onSent(id: number): void }) => Promise<unknown>

interface Opening {
  acknowledged(filter: SubscriptionFilter): void
  ended(error: Error): void
}

/** The subscriptions of a client. */
export class Subscriptions {
  private readonly _open = new Map<number, Opening>()

  /** Opens a subscription. Resolves when the server has acknowledged it. */
  async listen(send: SendListen, options: RequestOptions = {}): Promise<McpSubscription> {
    const { timeout = DEFAULT_REQUEST_TIMEOUT_MSEC, signal } = options
    const stop = new AbortController()
    const opening = deferred<SubscriptionFilter>()
    const closed = deferred<SubscriptionEnd>()
    let id: number | undefined
    let isOver = false
    const end = (how: SubscriptionEnd, error: unknown) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      if (id !== undefined) this._open.delete(id)
      stop.abort('The subscription was closed')
      closed.resolve(how)
      opening.reject(error)
    }
    const onAbort = () => end('local', toError(signal?.reason))
    const timer = setTimeout(() => end('remote', ackTimedOut(timeout)), timeout)
    signal?.addEventListener('abort', onAbort, { once: true })
    const onSent = (sent: number) => {
      id = sent
      this._open.set(sent, {
        acknowledged: (filter) => {
          clearTimeout(timer)
          opening.resolve(filter)
        },
        ended: (error) => end('remote', error),
      })
    }
    send({ signal: stop.signal, onSent }).then(
      () => end('graceful', closedEarly('server closed the subscription gracefully before acknowledging')),
      (error) => end('remote', toSdkError(error, { timeout })),
    )
    const honoredFilter = await opening.promise
    const close = async () => end('local', undefined)
    return { honoredFilter, close, closed: closed.promise }
  }

  /** Takes a notification that is about a subscription. Returns false if it is not. */
  take({ method, params }: Notification): boolean {
    if (method === 'notifications/subscriptions/acknowledged') {
      const meta = params?._meta as Record<string, unknown> | undefined
      const opening = this._find(meta?.[SUBSCRIPTION_ID_META_KEY])
      opening?.acknowledged(isObject(params?.notifications) ? params.notifications : {})
      return opening !== undefined
    }
    if (method !== 'notifications/cancelled') return false
    const opening = this._find(params?.requestId)
    opening?.ended(new Error('subscriptions/listen: server cancelled the subscription'))
    return opening !== undefined
  }

  /** The connection has ended. */
  clear(): void {
    const error = new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed')
    for (const opening of [...this._open.values()]) opening.ended(error)
    this._open.clear()
  }

  private _find(id: unknown): Opening | undefined {
    return typeof id === 'number' ? this._open.get(id) : undefined
  }
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason ?? 'Aborted'))
}

function ackTimedOut(timeout: number): SdkError {
  return new SdkError(SdkErrorCode.RequestTimeout, 'subscriptions/listen ack timed out', { timeout })
}

function closedEarly(what: string): SdkError {
  return new SdkError(SdkErrorCode.ConnectionClosed, `subscriptions/listen: ${what}`)
}

interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

function deferred<T>(): Deferred<T> {
  let settle: Pick<Deferred<T>, 'resolve' | 'reject'> | undefined
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, ...(settle as unknown as Pick<Deferred<T>, 'resolve' | 'reject'>) }
}
