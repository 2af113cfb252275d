import type { LoggingLevel } from 'tenon'
import type { Client } from 'tenon/client'

/** Something that happened on a server. With `--json`, each is one line; the schema is documented in docs/cli.md. */
export type WatchEvent = { readonly at: string } & WatchFact

type WatchFact =
  | { readonly type: 'toolsChanged' | 'promptsChanged' | 'resourcesChanged' | 'updatesMissed' }
  | { readonly type: 'resourceUpdated'; readonly uri: string }
  | { readonly type: 'log'; readonly level: LoggingLevel; readonly logger?: string; readonly data: unknown }
  | { readonly type: 'task'; readonly id: string; readonly status: string; readonly message?: string }
  | { readonly type: 'state'; readonly state: string; readonly reason?: string }
  | { readonly type: 'warning'; readonly message: string }

/** Reports the events of a client. */
export function watchEvents(client: Client, report: (event: WatchEvent) => void): void {
  const emit = (fact: WatchFact) => report({ at: new Date().toISOString(), ...fact })
  for (const type of ['toolsChanged', 'promptsChanged', 'resourcesChanged', 'updatesMissed'] as const) {
    client.on(type, () => emit({ type }))
  }
  client.on('resourceUpdated', ({ uri }) => emit({ type: 'resourceUpdated', uri }))
  client.on('log', ({ level, logger, data }) =>
    emit({ type: 'log', level, ...(logger !== undefined && { logger }), data }),
  )
  client.on('task', ({ taskId: id, status, statusMessage: message }) =>
    emit({ type: 'task', id, status, ...(message !== undefined && { message }) }),
  )
  client.on('state', ({ state, reason }) => {
    if (state === 'reconnecting' || state === 'ready') emit({ type: 'state', state, ...(reason && { reason }) })
  })
  client.on('warning', ({ message }) => emit({ type: 'warning', message }))
}
