import type {
  ListChangedHandlers,
  ListChangedOptions,
  NotificationMethod,
  ServerCapabilities,
  SubscriptionFilter,
} from '../core/types.ts'

const defaultDebounceMs = 300

export interface ListChangedTarget {
  setNotificationHandler(method: NotificationMethod, handler: () => void): void
  list(kind: keyof ListChangedHandlers): Promise<unknown[]>
}

/** Calls back when a list of the server has changed, with the new list if it is wanted. */
export class ListChanges {
  private readonly _handlers: ListChangedHandlers
  private readonly _timers = new Map<string, ReturnType<typeof setTimeout>>()

  constructor(handlers: ListChangedHandlers) {
    this._handlers = handlers
  }

  /** Registers handlers for the lists that the server notifies about. Returns the subscription that 2026-07-28 needs. */
  register(target: ListChangedTarget, capabilities: ServerCapabilities | undefined): SubscriptionFilter {
    const filter: SubscriptionFilter = {}
    for (const kind of ['tools', 'prompts', 'resources'] as const) {
      const options = this._handlers[kind]
      if (!options || !capabilities?.[kind]?.listChanged) continue
      const debounceMs = checkOptions(kind, options)
      const refresh = () => void report(options as ListChangedOptions<unknown>, () => target.list(kind))
      target.setNotificationHandler(`notifications/${kind}/list_changed`, () => this._later(kind, refresh, debounceMs))
      filter[`${kind}ListChanged`] = true
    }
    return filter
  }

  /** Forgets changes that were not reported yet. */
  stop(): void {
    for (const timer of this._timers.values()) clearTimeout(timer)
    this._timers.clear()
  }

  private _later(kind: string, refresh: () => void, debounceMs: number): void {
    clearTimeout(this._timers.get(kind))
    if (debounceMs > 0) this._timers.set(kind, setTimeout(refresh, debounceMs))
    else refresh()
  }
}

async function report(options: ListChangedOptions<unknown>, list: () => Promise<unknown[]>): Promise<void> {
  const { autoRefresh = true, onChanged } = options
  if (!autoRefresh) return onChanged(null, null)
  let items: unknown[]
  try {
    items = await list()
  } catch (error) {
    return onChanged(error instanceof Error ? error : new Error(String(error)), null)
  }
  onChanged(null, items)
}

/** Returns the delay. */
function checkOptions(kind: string, options: ListChangedOptions<never>): number {
  const { autoRefresh = true, debounceMs = defaultDebounceMs, onChanged } = options
  const refuse = (what: string) => new TypeError(`Invalid ${kind} listChanged options: ${what}`)
  if (typeof autoRefresh !== 'boolean') throw refuse('autoRefresh must be a boolean')
  if (!Number.isInteger(debounceMs) || debounceMs < 0) throw refuse('debounceMs must be a non-negative integer')
  if (typeof onChanged !== 'function') throw refuse('onChanged must be a function')
  return debounceMs
}
