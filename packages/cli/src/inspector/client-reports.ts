import type { SubscriptionFilter } from 'tenon'
import type { Client } from 'tenon/client'
import type { ServerFacts } from './server-facts.ts'
import { toShownError } from './shown-error.ts'

/** Logs what a server sends outside of requests, and what the client finds wrong. */
export function reportClient(client: Client, server: string, facts: ServerFacts): void {
  client.on('resourceUpdated', ({ uri }) => facts.add({ kind: 'changed', server, what: 'resource', uri }))
  client.on('log', ({ level, logger, data }) =>
    facts.add({ kind: 'log', server, level, ...(logger !== undefined && { logger }), data: shorten(data) }),
  )
  client.on('warning', ({ message }) => facts.add({ kind: 'notice', server, level: 'warning', text: message }))
  client.on('error', ({ error }) => facts.add(errorNotice(server, error)))
}

/** Subscribes to changes of the lists, if the server offers that. */
export async function listenForChanges(client: Client): Promise<void> {
  const { tools, prompts, resources } = client.server.capabilities
  const filter: SubscriptionFilter = {
    ...(tools?.listChanged && { toolsListChanged: true }),
    ...(prompts?.listChanged && { promptsListChanged: true }),
    ...(resources?.listChanged && { resourcesListChanged: true }),
  }
  if (Object.keys(filter).length > 0) await client.listen(filter)
}

/** The event for an error outside of a request. */
export function errorNotice(server: string, error: unknown) {
  return { kind: 'notice', server, level: 'error', text: toShownError(error).message } as const
}

const maxLogChars = 64 * 1024

/** The message on the wire has all of it. */
function shorten(data: unknown): unknown {
  const text = JSON.stringify(data) ?? 'null'
  return text.length <= maxLogChars ? data : `${text.slice(0, maxLogChars)}…`
}
