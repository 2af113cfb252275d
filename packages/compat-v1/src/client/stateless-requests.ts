import type { ResultObject } from 'tenon'
import type { Client as TenonClient } from 'tenon/client'
import type { LoggingLevel } from '../generated/protocol-types.ts'
import type { EngineRequestOptions } from '../shared/engine.ts'

/**
 * Sends a request to a server of 2026-07-28. Methods that this revision does not have become what it has instead, so that
 * programs for earlier revisions keep working.
 */
export async function requestStateless(
  client: TenonClient,
  method: string,
  params: object | undefined,
  options: EngineRequestOptions,
): Promise<ResultObject> {
  const replacement = replacements[method]
  if (replacement) {
    await replacement(client, (params ?? {}) as Record<string, string>)
    return {}
  }
  const { timeout, maxTotalTimeout, signal, onprogress, onSent } = options
  const result = await client.request(
    method,
    params as never,
    {
      signal,
      timeoutMs: Number.isFinite(timeout) ? Math.max(timeout, 1) : 0,
      maxTotalTimeoutMs: maxTotalTimeout ?? 0,
      resetTimeoutOnProgress: options.resetTimeoutOnProgress ?? false,
      onProgress: onprogress,
      onSent,
    } as never,
  )
  const { resultType: _, ...rest } = result as ResultObject
  return rest
}

const replacements: Record<string, (client: TenonClient, params: Record<string, string>) => Promise<void>> = {
  ping: (client) => client.ping(),
  'logging/setLevel': (client, { level }) => client.setLoggingLevel(level as LoggingLevel),
  'resources/subscribe': (client, { uri = '' }) => client.subscribeResource(uri),
  'resources/unsubscribe': (client, { uri = '' }) => client.unsubscribeResource(uri),
}
