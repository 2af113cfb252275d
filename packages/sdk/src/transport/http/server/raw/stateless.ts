import type { Endpoint } from '../../../../protocol/endpoint.ts'
import { DenseSet } from '../../../../util/dense-set.ts'
import type { BodyLimits, HttpCall, OutputLimits } from '../call.ts'
import { IncomingBodies } from '../incoming-bodies.ts'
import { classifyPosted, type Revisions } from '../posted-message.ts'
import { SlowResponses } from '../response.ts'
import type { HandlerServices } from '../single-request.ts'
import { StatelessPosts } from '../stateless-posts.ts'
import { OpenStreams } from '../streams/open-streams.ts'
import { UnsentOutputs } from '../unsent-output.ts'
import type { RawHttpOptions } from './options.ts'

/** Limits that all transports of the process share, because programs create a transport for each session or request. */
const maxQueuedBytes = 4 * 1024 * 1024
const incoming = /* @__PURE__ */ new IncomingBodies({})
const slowResponses = /* @__PURE__ */ new SlowResponses()
/** By the interval of their comments, which programs set to one value or leave out. */
const openStreams = /* @__PURE__ */ new Map<number | undefined, OpenStreams>()
export const outputLimits: OutputLimits = { unsentOutputs: /* @__PURE__ */ new UnsentOutputs({}), maxQueuedBytes }

export function bodyLimitsOf({ maxBodyBytes = 4 * 1024 * 1024 }: RawHttpOptions): BodyLimits {
  // The HTTP server of the program has timeouts of its own.
  return { maxBodyBytes, bodyTimeoutMs: 0, deadlines: undefined, incoming }
}

/** Answers requests of the stateless era for a transport that is connected to a server. They need no session. */
export class RawStatelessPosts {
  readonly #services: HandlerServices
  readonly #posts: StatelessPosts

  constructor(endpoint: Endpoint, revisions: Revisions, { enableJsonResponse, keepAliveMs }: RawHttpOptions) {
    this.#services = {
      endpoint,
      streams: openStreamsWith(keepAliveMs || undefined),
      slowResponses,
      singleRequests: new DenseSet(),
      maxQueuedBytes,
      jsonOnly: enableJsonResponse ?? false,
      alwaysStream: false,
      reportError: (error) => endpoint.reportError(error),
    }
    this.#posts = new StatelessPosts(this.#services, revisions)
  }

  /** Throws a `Refusal`. */
  answer(call: HttpCall, value: unknown): void {
    this.#posts.answer(call, value, classifyPosted(value), undefined)
  }

  /** Ends what is in progress. */
  close(): void {
    for (const { link } of this.#services.singleRequests.all()) void link.close(0)
  }
}

function openStreamsWith(keepAliveMs: number | undefined): OpenStreams {
  const known = openStreams.get(keepAliveMs) ?? new OpenStreams({ keepAliveMs })
  openStreams.set(keepAliveMs, known)
  return known
}
