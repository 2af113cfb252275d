import { randomUUID } from 'node:crypto'
import type { RevisionId } from 'tenon'
import { CliError } from '../exit-codes.ts'
import type { EventLog } from './event-log.ts'
import type { InspectedServer, OpenConnection } from './inspected-server.ts'
import { inOperation } from './operation-context.ts'
import { type Outcome, runMethod } from './operation-methods.ts'
import type { OperationRequest, OperationStarted } from './protocol.ts'
import { toShownError } from './shown-error.ts'

/** Protects the backend from a page that never stops. */
const maxRunning = 1_000

/** The requests of the user that are running, of all servers. */
export class Operations {
  readonly #log: EventLog
  readonly #running = new Map<string, AbortController>()

  constructor(log: EventLog) {
    this.#log = log
  }

  /** Starts an operation, and returns its id. The log says how it ends. */
  start(server: InspectedServer, request: OperationRequest): string {
    if (this.#running.size >= maxRunning)
      throw new CliError('overloaded', `${maxRunning} operations are running. Cancel some of them first.`)
    const operation = randomUUID()
    const controller = new AbortController()
    this.#running.set(operation, controller)
    this.#log.append(startedFact(server.id, operation, request))
    void inOperation(operation, () => this.#run(server, operation, request, controller.signal)).finally(() =>
      this.#running.delete(operation),
    )
    return operation
  }

  /** Cancels an operation. Returns false if it is not running. */
  cancel(operation: string): boolean {
    const controller = this.#running.get(operation)
    controller?.abort()
    return controller !== undefined
  }

  /** Cancels everything. */
  close(): void {
    for (const controller of this.#running.values()) controller.abort()
  }

  async #run(
    server: InspectedServer,
    operation: string,
    request: OperationRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const startedAt = performance.now()
    const end = (outcome: Outcome | { error: unknown }) => {
      const durationMs = performance.now() - startedAt
      const ended = 'error' in outcome ? { error: toShownError(outcome.error) } : outcome
      this.#log.append({ kind: 'operation-ended', operation, ...ended, durationMs })
    }
    let connection: OpenConnection | undefined
    try {
      connection = await server.connectionFor(request.revision)
      signal.throwIfAborted()
      connection.recorder.keepResult(operation)
      end(await runMethod({ server, connection, operation, request, signal }))
    } catch (error) {
      end({ error })
    } finally {
      connection?.recorder.takeResult(operation)
    }
  }
}

function startedFact(server: string, operation: string, request: OperationRequest): OperationStarted {
  const { method, params = {}, revision, comparison } = request
  const more: { revision?: RevisionId; comparison?: string } = {
    ...(revision !== undefined && { revision }),
    ...(comparison !== undefined && { comparison }),
  }
  return { kind: 'operation', server, operation, method, params, ...more }
}
