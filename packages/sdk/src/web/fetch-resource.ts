import { HttpError, McpError } from '../errors.ts'
import type { ReadResourceResult } from '../protocol/resources.ts'
import { openFetch, type WebOptions } from './fetch.ts'

export interface FetchResourceOptions extends WebOptions {
  /** The maximum size of the resource. Default 1 MiB. */
  maxBytes?: number | undefined
}

/**
 * Fetches an `https:` resource from the web, instead of with `client.readResource`. Servers list such resources if
 * clients can fetch them directly (2026-07-28 resources, `https://`). The server chooses the URL, so `fetchResource`
 * connects only to public addresses, and sends no credentials.
 *
 * @example
 * const { contents } = uri.startsWith('https:') ? await fetchResource(uri) : await client.readResource(uri)
 */
export async function fetchResource(uri: string, options: FetchResourceOptions = {}): Promise<ReadResourceResult> {
  if (!URL.canParse(uri) || new URL(uri).protocol !== 'https:') {
    throw new McpError(
      'invalid-argument',
      'fetchResource() takes an https: URL. Read other resources with client.readResource()',
    )
  }
  const fetch = await openFetch(options, { maxBytes: options.maxBytes })
  const response = await fetch(uri, { signal: options.signal ?? null })
  const { status } = response
  if (status !== 200) {
    throw new HttpError(`${new URL(uri).host} answered HTTP ${status} instead of the resource`, {
      outcome: 'refused',
      status,
    })
  }
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  const mimeType = type.trim().toLowerCase() || undefined
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { contents: [{ uri, ...(mimeType && { mimeType }), ...toContents(bytes, mimeType) }] }
}

/** Text if the type is textual and the bytes are UTF-8. */
function toContents(bytes: Uint8Array, mimeType: string | undefined): { text: string } | { blob: string } {
  const isText = mimeType !== undefined && /^text\/|[/+](?:json|xml|yaml|javascript)$/.test(mimeType)
  try {
    if (isText) return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    // Text in another encoding is passed on as bytes.
  }
  return { blob: toBase64(bytes) }
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  // The number of arguments of a call is limited.
  for (let at = 0; at < bytes.length; at += 8_192) binary += String.fromCharCode(...bytes.subarray(at, at + 8_192))
  return btoa(binary)
}
