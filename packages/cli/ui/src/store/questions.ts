import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { EventOf, ViewModel } from './view-model.ts'

/** A question of a server that waits for an answer. */
export interface QuestionView {
  readonly asked: EventOf<'question'>
}

/** Questions of servers to the user. */
export class Questions implements ViewModel {
  readonly changes = new Changes()
  readonly #open = new Map<string, QuestionView>()

  apply(event: InspectorEvent): void {
    if (event.kind === 'question') this.#open.set(event.question, { asked: event })
    else if (event.kind === 'question-ended') this.#open.delete(event.question)
    else if (event.kind === 'server-removed') this.#forget(event.server)
    else return
    this.changes.mark()
  }

  /** Questions that wait for an answer, oldest first. */
  open(): QuestionView[] {
    return [...this.#open.values()]
  }

  #forget(server: string): void {
    for (const [id, { asked }] of this.#open) if (asked.server === server) this.#open.delete(id)
  }
}
