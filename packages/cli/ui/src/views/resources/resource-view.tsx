import { useEffect, useRef } from 'preact/hooks'
import { useApp } from '../../state/app.ts'
import type { Item } from '../../store/lists.ts'
import { clockTime } from '../../text/format.ts'
import { ItemHead } from '../item-head.tsx'
import { RunHistory } from '../tools/run-history.tsx'

/** A resource: read it, subscribe to it. */
export function ResourceView({ server, resource }: { server: string; resource: Item }) {
  return (
    <article class="resource">
      <ItemHead item={resource} idKey="uri" />
      <ReadResource server={server} uri={String(resource.uri)} />
    </article>
  )
}

/** Reads a resource, and reads it again when the server says that it changed. */
export function ReadResource({ server, uri }: { server: string; uri: string }) {
  const app = useApp()
  const { store } = app
  store.subscriptions.changes.watch()
  const subscription = store.subscriptions.get(server, uri)
  const read = () => void app.operate(server, { method: 'resources/read', params: { uri } })
  const subscribe = () => {
    const method = subscription ? 'resources/unsubscribe' : 'resources/subscribe'
    void app.operate(server, { method, params: { uri } })
  }
  useReadOnUpdate(subscription?.updates ?? 0, read)
  return (
    <>
      <div class="call-row">
        <button type="button" class="primary" disabled={!app.isLive} onClick={read}>
          Read
        </button>
        <button type="button" aria-pressed={subscription !== undefined} disabled={!app.isLive} onClick={subscribe}>
          {subscription ? 'Unsubscribe' : 'Subscribe'}
        </button>
        {subscription && (
          <span class="dim" role="status">
            live · {subscription.updates} updates
            {subscription.lastUpdateAt !== undefined && `, last at ${clockTime(subscription.lastUpdateAt)}`}
          </span>
        )}
      </div>
      <RunHistory server={server} method="resources/read" isMine={(params) => params.uri === uri} />
    </>
  )
}

/** At most once per second: a server may announce updates without end. */
function useReadOnUpdate(updates: number, read: () => void): void {
  const before = useRef(updates)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    if (updates <= before.current) {
      before.current = updates
      return
    }
    before.current = updates
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      read()
    }, 1_000)
  }, [updates, read])
  useEffect(() => () => clearTimeout(timer.current), [])
}
