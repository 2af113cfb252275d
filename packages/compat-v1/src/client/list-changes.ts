import type { ServerCapabilities } from '../generated/protocol-types.ts'
import { type ListChangedHandlers, type ListChangedOptions, ListChangedOptionsBaseSchema } from '../types.ts'

/** The client whose lists are followed. */
export interface ListChangesHost {
  readonly capabilities: ServerCapabilities | undefined
  /** Returns the items of a list. */
  fetch(list: ListName): Promise<unknown[]>
  /** Calls `changed` when the server announces that the list changed. */
  on(list: ListName, changed: () => void): void
}

export type ListName = keyof ListChangedHandlers

const listNames: readonly ListName[] = ['tools', 'prompts', 'resources']

/** Calls the handlers of a program when lists change, as far as the server announces that. */
export function followLists(handlers: ListChangedHandlers, host: ListChangesHost): void {
  for (const list of listNames) {
    const options = handlers[list]
    if (options && host.capabilities?.[list]?.listChanged) {
      host.on(list, createListener(list, options as ListChangedOptions<unknown>, host))
    }
  }
}

function createListener(list: ListName, options: ListChangedOptions<unknown>, host: ListChangesHost): () => void {
  const parsed = ListChangedOptionsBaseSchema.safeParse(options)
  if (!parsed.success) throw new Error(`Invalid ${list} listChanged options: ${parsed.error.message}`)
  const { onChanged } = options
  if (typeof onChanged !== 'function') {
    throw new Error(`Invalid ${list} listChanged options: onChanged must be a function`)
  }
  const { autoRefresh, debounceMs } = parsed.data
  const refresh = async () => {
    if (!autoRefresh) return onChanged(null, null)
    const outcome = await fetchList(list, host)
    if (outcome instanceof Error) onChanged(outcome, null)
    else onChanged(null, outcome)
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  return () => {
    clearTimeout(timer)
    if (debounceMs) timer = setTimeout(refresh, debounceMs)
    else void refresh()
  }
}

async function fetchList(list: ListName, host: ListChangesHost): Promise<unknown[] | Error> {
  try {
    return await host.fetch(list)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
