import type { Root } from 'tenon'
import type { ClientOptions } from 'tenon/client'
import { type Context, McpServer } from 'tenon/server'
import { handshakeRevisions } from '../../kit/revisions.ts'

export const listRoots = 'roots/list'
export const changed = 'notifications/roots/list_changed'
export const handshakes = { revisions: handshakeRevisions }
export const home: Root = { uri: 'file:///home/me', name: 'Home' }
export const work: Root = { uri: 'file:///srv/work' }
export const info = { name: 'asker', version: '1.0.0' }

export const having = (
  roots: NonNullable<ClientOptions['handlers']>['roots'],
  more: ClientOptions = {},
): ClientOptions => ({
  ...more,
  handlers: { roots },
})

/** Creates a server whose tool runs `work` and returns its result; by default it lists the roots. */
export function server(work: (ctx: Context) => Promise<unknown> = uris): McpServer {
  const made = new McpServer(info)
  made.registerTool('ask', {}, async (_args, ctx) => JSON.stringify(await work(ctx)))
  return made
}

export async function uris(ctx: Context): Promise<string[]> {
  return (await ctx.roots()).map(({ uri }) => uri)
}
