import { type Signal, signal } from '@preact/signals'
import type { WireFilter } from '../store/wire-filter.ts'

export const tabs = ['overview', 'tools', 'resources', 'prompts', 'tasks', 'logs'] as const
export type Tab = (typeof tabs)[number]

export const panes = ['servers', 'workspace', 'wire'] as const
export type Pane = (typeof panes)[number]

export const wireViews = ['messages', 'http', 'diagram'] as const
export type WireView = (typeof wireViews)[number]

/** The first contents of the dialog to connect a server. */
export interface ConnectDraft {
  readonly target?: string
  readonly headers?: string
  /** A server that the new one takes the place of. */
  readonly replaces?: string
}

/** What the user chose to look at. It is not part of the log. */
export class UiState {
  readonly server = signal<string | undefined>(undefined)
  readonly tab = signal<Tab>('tools')
  /** The column that a narrow screen shows. */
  readonly pane = signal<Pane>('workspace')
  /** What the dialog to connect a server begins with; undefined while it is closed. */
  readonly connectDraft = signal<ConnectDraft | undefined>(undefined)
  readonly isShowingKeys = signal(false)
  readonly wireFilter = signal<WireFilter>({ text: '' })
  readonly wireView = signal<WireView>('messages')
  readonly wireRow = signal<number | undefined>(undefined)
  /** The comparison that the workspace shows. */
  readonly comparison = signal<string | undefined>(undefined)
  readonly #kept = new Map<string, Signal<unknown>>()

  /** A value that is kept while the page is open: a draft, a selection, the text of a search. */
  kept<Value>(key: string, initial: () => Value): Signal<Value> {
    const found = this.#kept.get(key) ?? signal<unknown>(initial())
    this.#kept.set(key, found)
    // A key is used with one type only.
    return found as Signal<Value>
  }

  /** Shows the messages of one operation. */
  showOnWire(operation: string, view: 'messages' | 'diagram' = 'messages'): void {
    this.wireFilter.value = { text: '', operation }
    this.wireView.value = view
    this.pane.value = 'wire'
  }
}
