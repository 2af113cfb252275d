import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { type AddressPolicy, isLiteral } from '../address-policy.ts'
import type { HttpRequest, ResponseHandler, Sender } from '../send.ts'
import { sendOver } from './pooled-sender.ts'

/** Resolves a host name to addresses. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/**
 * Sends over Node's HTTP client to addresses that the policy allows. The name is resolved once, and the connection goes to the
 * addresses that were checked, so a second answer of the name server cannot lead elsewhere (DNS rebinding). TLS still checks
 * the certificate against the name.
 */
export class PinnedSender implements Sender {
  readonly decompresses = false
  readonly #policy: AddressPolicy
  readonly #resolve: Resolve

  constructor(policy: AddressPolicy, resolve: Resolve = resolveBySystem) {
    this.#policy = policy
    this.#resolve = resolve
  }

  send(request: HttpRequest, handler: ResponseHandler): () => void {
    let isAborted = false
    let abort = () => {}
    const start = async () => {
      const addresses = await this.#addressesOf(request.url)
      if (!isAborted) abort = connect(request, handler, lookupOf(addresses))
    }
    start().catch((cause) => {
      if (!isAborted) handler.onError(cause)
    })
    return () => {
      isAborted = true
      abort()
    }
  }

  close(): void {}

  async #addressesOf(url: URL): Promise<readonly string[]> {
    if (isLiteral(url.hostname)) return []
    const addresses = await this.#resolve(url.hostname)
    for (const address of addresses) this.#policy.checkAddress(url, address)
    return addresses
  }
}

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const { lookup } = process.getBuiltinModule('node:dns/promises')
  const found = await lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}

/** Returns the checked addresses, whatever name is looked up. Not called if the host of the URL is an address. */
function lookupOf(addresses: readonly string[]): LookupFunction {
  const found: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return (hostname, { all, family }, callback) => {
    const matching = found.filter((each) => !family || each.family === Number(String(family).replace('IPv', '')))
    const [first] = matching
    if (!first) {
      const error = Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
      callback(error, '', 0)
    } else if (all) callback(null, matching)
    else callback(null, first.address, first.family)
  }
}

function connect(
  { url, method, headers, body }: HttpRequest,
  handler: ResponseHandler,
  lookup: LookupFunction,
): () => void {
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  const call = request(url, {
    method,
    headers: {
      ...headers,
      // Nothing is decompressed here, so a small response cannot become a large one.
      'accept-encoding': 'identity',
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    },
    lookup,
    // Not pooled: the addresses of a pooled connection were checked at another time.
    agent: false,
  })
  return sendOver(call, handler, body)
}
