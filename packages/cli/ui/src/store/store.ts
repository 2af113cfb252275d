import { batch } from '@preact/signals'
import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import { AuthSteps } from './auth.ts'
import { EventLog } from './event-log.ts'
import { Lists } from './lists.ts'
import { Logs } from './logs.ts'
import { Operations } from './operations.ts'
import { Questions } from './questions.ts'
import { Roots } from './roots.ts'
import { Servers } from './servers.ts'
import { Subscriptions } from './subscriptions.ts'
import { Tasks } from './tasks.ts'
import type { ViewModel } from './view-model.ts'
import { Wire } from './wire.ts'

/** Everything that the page shows, derived from the log. Each event is applied once and costs the same at any length. */
export class Store {
  readonly log = new EventLog()
  readonly servers = new Servers()
  readonly lists = new Lists()
  readonly operations = new Operations()
  readonly questions = new Questions()
  readonly wire = new Wire()
  readonly logs = new Logs()
  readonly tasks = new Tasks()
  readonly subscriptions = new Subscriptions()
  readonly auth = new AuthSteps()
  readonly roots = new Roots()
  readonly #models: readonly ViewModel[] = [
    this.servers,
    this.lists,
    this.operations,
    this.questions,
    this.wire,
    this.logs,
    this.tasks,
    this.subscriptions,
    this.auth,
    this.roots,
  ]

  /** Applies one event. Components see it after `publish`. */
  apply(event: InspectorEvent): void {
    if (!this.log.add(event)) return
    for (const model of this.#models) model.apply(event)
  }

  /** Notifies the components of the models that changed. */
  publish(): void {
    batch(() => {
      for (const model of this.#models) model.changes.publish()
    })
  }
}
