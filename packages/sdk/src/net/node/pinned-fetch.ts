import type { LookupAddress } from 'node:dns'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { GuardError } from '../address-policy.ts'
import { isLiteral } from '../addresses.ts'
import type { SendSingle, SingleRequest, SingleResponse } from '../single-request.ts'

/**
 * Requests by Node's own client to addresses that were judged before. The name is looked up once, so that a second answer of
 * its name server cannot lead elsewhere (DNS rebinding); TLS still checks the certificate against the name.
 */
export function sendPinned(resolve: (hostname: string) => Promise<readonly string[]> = resolveBySystem): SendSingle {
  return async (call) => {
    const { url, judge, signal } = call
    const addresses = isLiteral(url.hostname) ? [] : await resolve(url.hostname)
    for (const address of addresses) judge.address(url, address)
    signal.throwIfAborted()
    return send(call, lookupOf(addresses))
  }
}

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const { lookup } = process.getBuiltinModule('node:dns/promises')
  const found = await lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}

/** Gives the judged addresses, whatever is asked. Never called where the host of a URL is an address. */
function lookupOf(addresses: readonly string[]): LookupFunction {
  const found: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return (hostname, { all, family }, callback) => {
    const fitting = found.filter((each) => !family || each.family === Number(String(family).replace('IPv', '')))
    const [first] = fitting
    if (!first) {
      const error = Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
      callback(error, '', 0)
    } else if (all) callback(null, fitting)
    else callback(null, first.address, first.family)
  }
}

function send({ url, method, headers, body, signal }: SingleRequest, lookup: LookupFunction): Promise<SingleResponse> {
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method,
      headers: {
        ...headers,
        // Nothing is unpacked here, so nothing small can become something large.
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      },
      lookup,
      // A connection of its own: a kept one would be to an address that was judged at another time.
      agent: false,
      signal,
    })
    call.on('response', (message: IncomingMessage) => {
      try {
        resolve(toAnswer(url, call, message))
      } catch (error) {
        call.destroy()
        reject(error)
      }
    })
    call.on('error', reject)
    // An answer that switches protocols is neither a response nor an error.
    call.on('close', () => reject(new Error('the connection was closed')))
    call.end(body)
  })
}

function toAnswer({ host }: URL, call: ClientRequest, message: IncomingMessage): SingleResponse {
  const { statusCode: status = 0, rawHeaders } = message
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!)
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity') {
    throw new GuardError('encoding', host, `${host} packs its answer although it was asked not to`, status)
  }
  // What breaks after it was given up is of no interest to anyone.
  message.on('error', () => {})
  const pieces: AsyncIterator<Uint8Array> = message[Symbol.asyncIterator]()
  return { status, headers, read: () => pieces.next(), discard: () => void call.destroy() }
}
