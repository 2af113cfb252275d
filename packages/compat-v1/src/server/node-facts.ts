import type { IncomingMessage } from 'node:http'
import type { HttpRequest, RequestStream } from 'tenon/server'
import type { MessageExtraInfo, RequestInfo } from '../types.ts'
import type { AuthInfo } from './auth/types.ts'

/** A request of `node:http`, with the identity that middleware left on it. */
export type AuthorizedRequest = IncomingMessage & { auth?: AuthInfo }

/** Returns what `onmessage` is told about a request. */
export function extraOf(request: AuthorizedRequest): MessageExtraInfo {
  const { headers, auth, url, socket } = request
  const origin = `${socket && 'encrypted' in socket ? 'https' : 'http'}://${headers.host}`
  const requestInfo: RequestInfo = { headers, ...(headers.host && url && { url: new URL(url, origin) }) }
  return { requestInfo, ...(auth && { authInfo: auth }) }
}

/** What `onmessage` gets with a message whose answers go to one stream: the request, and a way to answer for Tenon. */
export class StreamExtra implements Omit<RequestStream, 'requestInfo'>, MessageExtraInfo {
  readonly requestInfo: RequestInfo | undefined
  readonly authInfo: AuthInfo | undefined
  declare private readonly _tenonSend: (text: string) => boolean

  constructor({ requestInfo, authInfo }: MessageExtraInfo, send: (text: string) => boolean) {
    this.requestInfo = requestInfo
    this.authInfo = authInfo
    // Not enumerable: programs compare and log what they get here.
    Object.defineProperty(this, '_tenonSend', { value: send })
  }

  /** Not an own property, so that programs see only the members above. */
  get era(): 'handshake' {
    return 'handshake'
  }

  get request(): HttpRequest | undefined {
    const { requestInfo, authInfo } = this
    if (!requestInfo) return undefined
    const headers = toTexts(requestInfo.headers)
    return {
      url: requestInfo.url?.href ?? '/',
      headers,
      header: (name) => headers[name.toLowerCase()],
      auth: authInfo as HttpRequest['auth'],
    }
  }

  sendText(text: string): boolean {
    return this._tenonSend(text)
  }

  end(): void {}
}

function toTexts(headers: RequestInfo['headers']): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) texts[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return texts
}
