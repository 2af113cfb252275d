import type { ClientHandlers, InputContext } from '../client/input/handlers.ts'
import { ErrorCode, ProtocolError } from '../errors.ts'
import type { ElicitParams } from '../protocol/elicitation.ts'
import { clock } from '../util/clock.ts'
import { isObject } from '../util/objects.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import type { ActionServer } from './action.ts'
import type { AuditLog } from './audit/audit.ts'
import type { Consent } from './consent.ts'
import { inspectElicitation } from './findings/inspect.ts'
import type { Roots, Sampling } from './host-parts.ts'
import type { HostInput } from './options.ts'
import type { QuestionOrigin } from './relayed-options.ts'

export interface ServerQuestionsOptions {
  readonly server: ActionServer
  readonly input: HostInput
  readonly sampling: Sampling | undefined
  readonly roots: Roots | undefined
  readonly consent: Consent
  readonly audit: AuditLog | undefined
  readonly caller: string | undefined
  readonly questionsPerMinute: number
}

/** The handlers for what one server asks: forms, URLs, sampling and roots. Each passes the policy and is recorded. */
export function handlersFor(options: ServerQuestionsOptions): ClientHandlers {
  const { input, sampling, roots, server } = options
  const elicitation = new Elicitation(options)
  const { elicit, elicitUrl } = input
  return {
    ...(elicit && {
      elicit: async (form, { signal, origin }) => {
        const request = { message: form.message, requestedSchema: form.requestedSchema }
        return elicitation.ask(request, origin, async () => elicit(form, { server, signal, origin }))
      },
    }),
    ...(elicitUrl && {
      elicitUrl: async (request, { signal, origin }) => {
        const { message, url, elicitationId = '' } = request
        const shown = { mode: 'url', message, url: url.href, elicitationId } as const
        return elicitation.ask(shown, origin, async () => elicitUrl(request, { server, signal, origin }))
      },
    }),
    ...(sampling && {
      sample: (params, { signal, origin }: InputContext) => sampling.sample(server, params, signal, origin),
    }),
    ...(roots && { roots: ({ origin }: InputContext) => roots.for(server, origin) }),
  }
}

/** Forms and URLs of one server. */
class Elicitation {
  readonly #options: ServerQuestionsOptions
  readonly #bucket: TokenBucket

  constructor(options: ServerQuestionsOptions) {
    this.#options = options
    const { questionsPerMinute } = options
    this.#bucket = new TokenBucket(questionsPerMinute, questionsPerMinute / 60, clock.monotonic())
  }

  /** Throws the error for the server if it may not ask, or may not get the answer any more. */
  async ask<T extends { readonly action: string }>(request: ElicitParams, origin: unknown, ask: () => Promise<T>) {
    const { consent, server } = this.#options
    const before = consent.taintFor(server)
    await this.#allow(request, origin)
    const answer = await ask()
    // While the user answered, the session may have received data that must not reach this server, or not without approval.
    const action = { kind: 'elicitation', server, request } as const
    if (answer.action === 'accept' && !(await consent.stillAllows(action, before, { origin })))
      throw refused('The host does not allow an answer to this question any more')
    return this.#record(answer)
  }

  async #allow(request: ElicitParams, origin: unknown): Promise<void> {
    const { server, consent } = this.#options
    const isCounted = isOrigin(origin) && origin.isCounted()
    if (!isCounted && !this.#bucket.take(clock.monotonic())) throw refused('The user is not asked that often')
    const verdict = await consent.decide({ kind: 'elicitation', server, request }, inspectElicitation(request), {
      origin,
    })
    if (!verdict.allowed) throw refused('The host does not allow this question')
  }

  #record<T extends { readonly action: string }>(answer: T): T {
    const { server, audit, caller } = this.#options
    // The content may be private: only whether there was an answer is recorded.
    audit?.append({ event: 'elicitation', server: server.id, caller, details: { action: answer.action } })
    return answer
  }
}

function isOrigin(origin: unknown): origin is QuestionOrigin {
  return isObject(origin) && typeof origin.isCounted === 'function'
}

function refused(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.InvalidRequest, message)
}
