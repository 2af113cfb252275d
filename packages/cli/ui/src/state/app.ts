import { type Signal, signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { OperationRequest } from '../../../src/inspector/protocol.ts'
import type { Backend } from '../backend/backend.ts'
import type { StreamState } from '../backend/event-stream.ts'
import { Store } from '../store/store.ts'
import { UiState } from './ui-state.ts'

/** A message to the user about something that failed. */
export interface Notice {
  readonly id: number
  readonly text: string
}

/** The log that the page shows, the backend if it is live, and what the user looks at. */
export class App {
  readonly store = new Store()
  readonly ui = new UiState()
  readonly notices: Signal<readonly Notice[]> = signal([])
  readonly stream = signal<StreamState>('connecting')
  /** Undefined for a transcript: there is nobody to ask. */
  readonly backend: Backend | undefined
  /** The name of the transcript, if this is one. */
  readonly transcript: string | undefined
  #lastNotice = 0

  constructor(source: { backend: Backend } | { transcript: string }) {
    this.backend = 'backend' in source ? source.backend : undefined
    this.transcript = 'transcript' in source ? source.transcript : undefined
  }

  get isLive(): boolean {
    return this.backend !== undefined
  }

  /** Runs an action of the user. An error is shown, not thrown. */
  async run<Result>(action: (backend: Backend) => Promise<Result>): Promise<Result | undefined> {
    if (this.backend === undefined) return undefined
    try {
      return await action(this.backend)
    } catch (error) {
      this.notify(textOf(error))
      return undefined
    }
  }

  operate(server: string, request: OperationRequest): Promise<string | undefined> {
    return this.run((backend) => backend.operate(server, request))
  }

  notify(text: string): void {
    const notice = { id: ++this.#lastNotice, text }
    this.notices.value = [...this.notices.value.slice(-2), notice]
  }

  dismiss(id: number): void {
    this.notices.value = this.notices.value.filter((notice) => notice.id !== id)
  }
}

export const AppContext = createContext<App | undefined>(undefined)

/** The app that this component belongs to. */
export function useApp(): App {
  const app = useContext(AppContext)
  if (app === undefined) throw new Error('A component is outside of the app.')
  return app
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const hint = 'hint' in error && typeof error.hint === 'string' ? ` ${error.hint}` : ''
  return `${error.message}${hint}`
}
