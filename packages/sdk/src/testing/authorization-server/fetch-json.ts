import { isObject, type JsonObject } from '../../util/objects.ts'
import type { Settings } from './options.ts'

const timeoutMs = 5_000
const maxBytes = 65_536

/** A document, with how long it may be kept. */
export interface Fetched {
  readonly document: JsonObject
  readonly maxAgeSeconds: number
}

/**
 * Gets a small JSON document from an address that somebody else chose: https, or http on this machine; no redirects, no
 * addresses instead of names, a bound on size and time. Where names lead is for the `fetch` of the options to judge.
 */
export async function fetchJson(address: string, { fetch }: Settings): Promise<Fetched> {
  checkAddress(address)
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await fetch(address, { headers: { accept: 'application/json' }, redirect: 'error', signal })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`${address} answered ${response.status}`)
  }
  const document: unknown = JSON.parse(await readSmall(response))
  if (!isObject(document)) throw new Error(`${address} is no JSON object`)
  return { document, maxAgeSeconds: maxAge(response.headers.get('cache-control') ?? '') }
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
}

function checkAddress(address: string): void {
  const url = new URL(address)
  if (url.username !== '' || url.password !== '') throw new Error('An address must not carry a user name or a password')
  if (isLoopback(url.hostname) && (url.protocol === 'http:' || url.protocol === 'https:')) return
  if (url.protocol !== 'https:') throw new Error(`${address} is neither https nor on this machine`)
  const isNumber = url.hostname.startsWith('[') || /^[\d.]+$/.test(url.hostname)
  if (isNumber) throw new Error(`${address} has an IP address where a name should be`)
}

async function readSmall(response: Response): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    // Leaving the loop cancels the rest.
    if (length > maxBytes) throw new Error(`${response.url} is larger than ${maxBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** RFC 9111 section 5.2.2. Without a word about it nothing is kept. */
function maxAge(cacheControl: string): number {
  if (/\bno-(store|cache)\b/i.test(cacheControl)) return 0
  return Math.min(Number(/\bmax-age=(\d+)/i.exec(cacheControl)?.[1] ?? 0), 86_400)
}
