import type { InspectorEvent, QuestionEnded } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { EventOf, ViewModel } from './view-model.ts'

/** A question of a server, open or answered. */
export interface QuestionView {
  readonly asked: EventOf<'question'>
  readonly outcome?: QuestionEnded['outcome'] | undefined
}

/** Questions of servers to the user. */
export class Questions implements ViewModel {
  readonly changes = new Changes()
  readonly #open = new Map<string, QuestionView>()
  readonly #ended = new Map<string, QuestionView>()

  apply(event: InspectorEvent): void {
    if (event.kind === 'question') this.#open.set(event.question, { asked: event })
    else if (event.kind === 'question-ended') this.#end(event)
    else if (event.kind === 'server-removed') this.#forget(event.server)
    else return
    this.changes.mark()
  }

  /** Questions that wait for an answer, oldest first. */
  open(): QuestionView[] {
    return [...this.#open.values()]
  }

  /** Questions that ended, newest first. */
  ended(): QuestionView[] {
    return [...this.#ended.values()].reverse()
  }

  #end({ question, outcome }: EventOf<'question-ended'>): void {
    const found = this.#open.get(question)
    if (found === undefined) return
    this.#open.delete(question)
    this.#ended.set(question, { ...found, outcome })
  }

  #forget(server: string): void {
    for (const [id, { asked }] of this.#open) if (asked.server === server) this.#open.delete(id)
  }
}
