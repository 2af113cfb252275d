import { HttpError, McpError } from '../errors.ts'
import type { ReadResourceResult } from '../protocol/resources.ts'
import { openFetch, type WebOptions } from './fetch.ts'

export interface FetchResourceOptions extends WebOptions {
  /** The longest resource. Default 1 MiB. */
  maxBytes?: number | undefined
}

const maxRedirects = 3

/**
 * Fetches an `https:` resource from the web, in place of `client.readResource`. A server lists such resources where clients can get
 * them without its help (2026-07-28 resources, `https://`). The URL is chosen by the server, so only public addresses are
 * connected to, and no credentials are sent.
 *
 * @example
 * const { contents } = uri.startsWith('https:') ? await fetchResource(uri) : await client.readResource(uri)
 */
export async function fetchResource(uri: string, options: FetchResourceOptions = {}): Promise<ReadResourceResult> {
  if (!URL.canParse(uri) || new URL(uri).protocol !== 'https:') {
    throw new McpError(
      'invalid-argument',
      'fetchResource() takes an https: URL; read other resources through the server',
    )
  }
  const fetch = await openFetch(options, options.maxBytes ?? 1024 * 1024, maxRedirects)
  const response = await fetch(uri, { signal: options.signal ?? null })
  const { status } = response
  if (status !== 200) {
    throw new HttpError(`${new URL(uri).host} answered HTTP ${status} in place of the resource`, {
      outcome: 'refused',
      status,
    })
  }
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  const mimeType = type.trim().toLowerCase() || undefined
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { contents: [{ uri, ...(mimeType && { mimeType }), ...toContents(bytes, mimeType) }] }
}

/** Text where the type says so and the bytes are. */
function toContents(bytes: Uint8Array, mimeType: string | undefined): { text: string } | { blob: string } {
  const isText = mimeType !== undefined && /^text\/|[/+](?:json|xml|yaml|javascript)$/.test(mimeType)
  try {
    if (isText) return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    // It says that it is text, in another encoding: the bytes are what can be handed on.
  }
  return { blob: toBase64(bytes) }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  // Functions take a limited number of arguments.
  for (let at = 0; at < bytes.length; at += 8_192) binary += String.fromCharCode(...bytes.subarray(at, at + 8_192))
  return btoa(binary)
}
