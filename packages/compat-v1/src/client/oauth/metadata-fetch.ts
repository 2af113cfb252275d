import type { FetchLike } from '../../shared/transport.ts'
import { fetchWithinOrigin } from './same-origin-fetch.ts'

/**
 * Fetches a metadata document. Browsers report a CORS failure as a TypeError: it is then requested again without headers, which
 * needs no preflight. Undefined if that fails too.
 */
export async function fetchDocument(
  url: URL,
  headers: Record<string, string>,
  fetchFn: FetchLike,
): Promise<Response | undefined> {
  const get = fetchWithinOrigin(fetchFn)
  return (await unlessBlocked(() => get(url, { headers }))) ?? unlessBlocked(() => get(url, {}))
}

/** Fetches a document from the first URL, and from the second one if the first has none. */
export async function fetchWithFallback(
  url: URL,
  fallback: URL | undefined,
  headers: Record<string, string>,
  fetchFn: FetchLike,
): Promise<Response | undefined> {
  const response = await fetchDocument(url, headers, fetchFn)
  const isMissing = !response || (!response.ok && response.status < 500)
  if (!fallback || !isMissing) return response
  await discardBody(response)
  return fetchDocument(fallback, headers, fetchFn)
}

/** Frees the connection of a response whose body is not read. */
export async function discardBody(response: Response | undefined): Promise<void> {
  await response?.body?.cancel()
}

async function unlessBlocked(request: () => Promise<Response>): Promise<Response | undefined> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
