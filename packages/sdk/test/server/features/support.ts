import { type RevisionId, revisionIds } from 'tenon'
import type { Client, Transport } from 'tenon/client'
import type { McpServer, Server } from 'tenon/server'
import { ScriptedClient, ScriptedServer, type Transcript } from 'tenon/testing'

/** 2024-11-05 to 2025-11-25. */
export const handshakes: readonly RevisionId[] = revisionIds.filter((id) => id < '2026-07-28')

export function since(first: RevisionId): readonly RevisionId[] {
  return revisionIds.filter((id) => id >= first)
}

/** Connects a raw client in memory and completes the handshake on revisions that have one. */
export async function script(server: McpServer | Server, revision: RevisionId): Promise<ScriptedClient> {
  const client = await ScriptedClient.connect(server, { revision })
  await client.open()
  return client
}

interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape
  result?: any
  error?: { code: number; message: string; data?: unknown }
}

/** Sends one raw request and returns its response. */
export async function ask(client: ScriptedClient, method: string, params?: Record<string, unknown>): Promise<Answer> {
  return (await client.request(method, params)) as Answer
}

export interface Note {
  method: string
  // biome-ignore lint/suspicious/noExplicitAny: notifications have params of every shape
  params?: any
}

/** Returns the notifications with the given method that one side sent. */
export function notes(transcript: Transcript, method: string, from: 'client' | 'server' = 'server'): Note[] {
  return transcript.from(from).filter((message) => 'method' in message && message.method === method) as Note[]
}

/** Returns the requests with the given method that the client sent. */
export function requests(transcript: Transcript, method: string): Note[] {
  return notes(transcript, method, 'client')
}

/** Returns the results that the server sent, oldest first. */
// biome-ignore lint/suspicious/noExplicitAny: results have every shape
export function results(transcript: Transcript): any[] {
  return transcript
    .from('server')
    .filter((message) => 'result' in message)
    .map((message) => (message as { result: unknown }).result)
}

/** Subscribes to every list, on any revision, and waits for the server to confirm it. */
export async function listenToAll(client: Client): Promise<void> {
  await client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true })
  await client.ping()
}

/** Waits long enough for anything in flight in this process to arrive. Use it only to prove that nothing does. */
export function settle(ms = 40): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

type Answers = ConstructorParameters<typeof ScriptedServer>[0]

/** Creates a raw server that completes the handshake of the revision and then answers with `answers`. */
export function pretend(revision: RevisionId, capabilities: object, answers: Answers): ScriptedServer {
  return new ScriptedServer({
    initialize: () => ({
      result: { protocolVersion: revision, capabilities, serverInfo: { name: 'pretend', version: '1' } },
    }),
    ping: () => ({ result: {} }),
    'server/discover': () => ({
      result: { resultType: 'complete', supportedVersions: [revision], capabilities, ttlMs: 0, cacheScope: 'private' },
    }),
    ...answers,
  })
}

export type { Transport }
