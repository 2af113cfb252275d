import { type RevisionId, revisionIds } from 'tenon'
import type { Client, Transport } from 'tenon/client'
import type { McpServer, Server } from 'tenon/server'
import { ScriptedClient, ScriptedServer, type Transcript } from 'tenon/testing'

/** 2024-11-05 to 2025-11-25. */
export const handshakes: readonly RevisionId[] = revisionIds.filter((id) => id < '2026-07-28')

export function since(first: RevisionId): readonly RevisionId[] {
  return revisionIds.filter((id) => id >= first)
}

/** A raw client in memory that has shaken hands, where the revision has that. */
export async function script(server: McpServer | Server, revision: RevisionId): Promise<ScriptedClient> {
  const client = await ScriptedClient.connect(server, { revision })
  await client.open()
  return client
}

interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests of all kinds
  result?: any
  error?: { code: number; message: string; data?: unknown }
}

/** One raw request, as it was answered. */
export async function ask(client: ScriptedClient, method: string, params?: Record<string, unknown>): Promise<Answer> {
  return (await client.request(method, params)) as Answer
}

export interface Note {
  method: string
  // biome-ignore lint/suspicious/noExplicitAny: params of notifications of all kinds
  params?: any
}

/** The notifications of one kind that one side sent. */
export function notes(transcript: Transcript, method: string, from: 'client' | 'server' = 'server'): Note[] {
  return transcript.from(from).filter((message) => 'method' in message && message.method === method) as Note[]
}

/** The requests of one kind that the client sent. */
export function requests(transcript: Transcript, method: string): Note[] {
  return notes(transcript, method, 'client')
}

/** The results the server sent, oldest first. */
// biome-ignore lint/suspicious/noExplicitAny: results of all kinds
export function results(transcript: Transcript): any[] {
  return transcript
    .from('server')
    .filter((message) => 'result' in message)
    .map((message) => (message as { result: unknown }).result)
}

/** Asks to hear of every list, on any revision, and waits until the server knows. */
export async function listenToAll(client: Client): Promise<void> {
  await client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true })
  await client.ping()
}

/** Long enough for anything that is under way in this process to arrive; only to prove that nothing does. */
export function settle(ms = 40): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

type Answers = ConstructorParameters<typeof ScriptedServer>[0]

/** A raw server that gets as far as being ready on the revision, and then answers what it is told to. */
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
