import { metaKeys, type RevisionId, type ServerCapabilities } from 'tenon'
import { Client, type ClientOptions } from 'tenon/client'
import { type ScriptedAnswer, ScriptedServer } from 'tenon/testing'
import { modern } from './revisions.ts'

export type Answers = Record<
  string,
  (params: Record<string, unknown>, request: { id: string | number }) => ScriptedAnswer
>

export const everything: ServerCapabilities = {
  logging: {},
  completions: {},
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
}

export function discovery(supportedVersions: readonly string[], capabilities: ServerCapabilities = everything) {
  return {
    resultType: 'complete',
    supportedVersions,
    capabilities,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [metaKeys.serverInfo]: { name: 'scripted', version: '1' } },
  }
}

export function initialized(protocolVersion: string, capabilities: ServerCapabilities = everything) {
  return { protocolVersion, capabilities, serverInfo: { name: 'scripted', version: '1' } }
}

/** Creates a scripted server that completes the handshake or discovery of a revision and then uses `answers`. */
export function scripted(revision: RevisionId, answers: Answers = {}, capabilities = everything): ScriptedServer {
  const greeting: Answers =
    revision === modern
      ? { 'server/discover': () => ({ result: discovery([modern], capabilities) }) }
      : { initialize: () => ({ result: initialized(revision, capabilities) }), ping: () => ({ result: {} }) }
  return new ScriptedServer({ ...greeting, ...answers })
}

export async function scriptedClient(server: ScriptedServer, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, options)
  await client.connect(server.transport)
  return client
}

/** Returns a result in the format of the revision. */
export function shaped(revision: RevisionId, result: Record<string, unknown>): { result: Record<string, unknown> } {
  return { result: revision === modern ? { resultType: 'complete', ...result } : result }
}
