import { ProtocolError, RpcCode } from '../../errors.ts'
import type { Exchange } from '../../jsonrpc/exchange.ts'
import type { Link } from '../../jsonrpc/link.ts'
import { Prepared, type ResultObject } from '../../jsonrpc/message.ts'
import type { Revision } from '../../protocol/revision.ts'
import {
  type ClientCapabilities,
  type Implementation,
  type LoggingLevel,
  loggingLevels,
  metaKeys,
} from '../../protocol/types.ts'
import { chain } from '../../util/chain.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { unsupportedVersion } from '../refusals.ts'
import type { Caller, Definition, EraMethod, Outcome, Reply, ServerEra } from '../server.ts'
import { Subscription } from './subscription.ts'

/** 2026-07-28: no session. Each request says who is calling, and each result says who answers. */
export class StatelessServer implements ServerEra {
  readonly #definition: Definition
  readonly #revisions: ReadonlyMap<string, Revision>
  readonly #ending: string
  readonly #subscriptions = new Map<Link, Set<Subscription>>()
  readonly methods: ReadonlyMap<string, EraMethod>

  constructor(definition: Definition) {
    this.#definition = definition
    const modern = definition.revisions.filter((revision) => revision.era === 'stateless')
    this.#revisions = new Map(modern.map((revision) => [revision.id, revision]))
    const signature = { resultType: 'complete', _meta: { [metaKeys.serverInfo]: definition.info } }
    this.#ending = JSON.stringify(signature).slice(1)
    this.methods = new Map<string, EraMethod>([
      ['server/discover', (exchange) => this.#discover(exchange)],
      ['subscriptions/listen', (exchange) => this.#listen(exchange)],
    ])
  }

  identify(exchange: Exchange): Caller {
    const meta = exchange.request.params?._meta as JsonObject
    const version = meta[metaKeys.protocolVersion]
    if (typeof version !== 'string') throw missing(metaKeys.protocolVersion, 'a string')
    const revision = this.#revisions.get(version)
    if (!revision) throw unsupportedVersion(version, this.#definition.revisions)
    const capabilities = meta[metaKeys.clientCapabilities]
    if (!isObject(capabilities)) throw missing(metaKeys.clientCapabilities, 'an object')
    const logLevel = meta[metaKeys.logLevel]
    if (logLevel !== undefined && !loggingLevels.includes(logLevel as LoggingLevel)) {
      throw new ProtocolError(RpcCode.InvalidParams, `params._meta["${metaKeys.logLevel}"] is no log level`)
    }
    return {
      revision,
      clientInfo: meta[metaKeys.clientInfo] as Implementation | undefined,
      capabilities: capabilities as ClientCapabilities,
      logLevel: logLevel as LoggingLevel | undefined,
    }
  }

  serve(exchange: Exchange, caller: Caller, run: () => Outcome): Reply | PromiseLike<Reply> {
    return chain(run(), (result) => this.#complete(caller.revision.toResult(exchange.request.method, result)))
  }

  notified(): void {}

  drain(link: Link): void {
    for (const subscription of this.#subscriptions.get(link) ?? []) subscription.end()
  }

  closed(link: Link): void {
    this.#subscriptions.delete(link)
  }

  /**
   * Marks a result as final and signs it. What is the same for every result is text already: building it into each
   * result object cost more than the rest of a small call.
   */
  #complete(result: ResultObject): Reply {
    if (result._meta === undefined && result.resultType === undefined) {
      const json = JSON.stringify(result)
      return new Prepared(json === '{}' ? `{${this.#ending}` : `${json.slice(0, -1)},${this.#ending}`)
    }
    const meta = { [metaKeys.serverInfo]: this.#definition.info }
    return { ...result, resultType: result.resultType ?? 'complete', _meta: { ...meta, ...(result._meta as object) } }
  }

  #discover(exchange: Exchange): Reply {
    const { revision } = this.identify(exchange)
    const { revisions, instructions, cacheHints } = this.#definition
    const result = {
      supportedVersions: revisions.map(({ id }) => id),
      capabilities: this.#definition.capabilities(),
      ...(instructions !== undefined && { instructions }),
      ...cacheHints,
    }
    return this.#complete(revision.toResult('server/discover', result))
  }

  #listen(exchange: Exchange): undefined {
    this.identify(exchange)
    const open = this.#subscriptions.get(exchange.link) ?? new Set()
    this.#subscriptions.set(exchange.link, open)
    const subscription = new Subscription(exchange, this.#definition, (result) => this.#complete(result))
    open.add(subscription)
    exchange.onEnd(() => open.delete(subscription))
  }
}

function missing(key: string, type: string): ProtocolError {
  return new ProtocolError(RpcCode.InvalidParams, `params._meta["${key}"] must be ${type}`)
}
