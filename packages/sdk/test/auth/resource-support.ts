import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { RevisionId } from 'tenon'
import type { McpServer, McpServerOptions, ServeHttpOptions } from 'tenon/server'
import { jwtVerifier } from '../../src/auth/resource/jwt-verifier.ts'
import type { AuthInfo, AuthOptions } from '../../src/auth/resource/options.ts'
import { checkScopes } from '../../src/protocol/scopes.ts'
import type { Answer } from '../kit/http-client.ts'
import { Peer, type PeerOptions } from '../kit/http-peer.ts'
import { serve } from '../kit/serve-http.ts'
import { registerSlow, workshop } from '../kit/workshop.ts'

export interface TokenClaims {
  sub?: string | undefined
  client_id?: string | undefined
  scope?: string | undefined
  aud?: string | string[] | undefined
  iss?: string | undefined
  exp?: number | undefined
  nbf?: number | undefined
  cnf?: object | undefined
}

export interface TokenHeader {
  typ?: string | undefined
  alg?: string | undefined
  kid?: string | undefined
}

export const now = () => Math.floor(Date.now() / 1000)

/** An authorization server as far as a resource server sees it: metadata, keys, and what it says of tokens. */
export class Issuer {
  readonly requests: { path: string; authorization: string | undefined; body: string }[] = []
  /** What introspection answers, by token. */
  readonly known = new Map<string, object>()
  url = ''
  /** Answers every request with this status instead. */
  broken: number | undefined
  metadata: Record<string, unknown> = {}
  keys: JWK[] = []
  #key!: CryptoKey
  #server!: ReturnType<typeof createServer>

  static async start(): Promise<Issuer> {
    const issuer = new Issuer()
    await issuer.rotate('k1')
    issuer.#server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        const path = request.url ?? ''
        issuer.requests.push({ path, authorization: request.headers.authorization, body })
        const answer = issuer.broken ? undefined : issuer.#answer(path, body)
        response.writeHead(issuer.broken ?? (answer ? 200 : 404), { 'content-type': 'application/json' })
        response.end(JSON.stringify(answer ?? {}))
      })
    })
    await new Promise<void>((resolve) => issuer.#server.listen(0, '127.0.0.1', resolve))
    issuer.url = `http://127.0.0.1:${(issuer.#server.address() as AddressInfo).port}`
    issuer.metadata = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }
    return issuer
  }

  /** Signs with a new key from now on. */
  async rotate(kid: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    this.#key = privateKey
    this.keys = [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }]
  }

  token(claims: TokenClaims, header: TokenHeader = {}, key: CryptoKey | Uint8Array = this.#key): Promise<string> {
    const all = { iss: this.url, sub: 'ann', client_id: 'app', exp: now() + 3_600, iat: now(), ...claims }
    const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    const fields = { alg: 'ES256', kid: this.keys[0]?.kid, typ: 'at+jwt', ...header }
    return new SignJWT(present).setProtectedHeader(fields as { alg: string }).sign(key)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #answer(path: string, body: string): object | undefined {
    if (path === '/jwks') return { keys: this.keys }
    if (path === '/introspect') return this.known.get(new URLSearchParams(body).get('token') ?? '') ?? { active: false }
    return path === '/.well-known/oauth-authorization-server' ? this.metadata : undefined
  }
}

/** A workshop with tools that tell who calls, or need more than a token. */
export function guarded(options: McpServerOptions = {}): McpServer & { slow: ReturnType<typeof registerSlow> } {
  const server = workshop(options)
  server.registerTool('who', {}, (_, ctx) => JSON.stringify(ctx.auth ?? null))
  server.registerTool('headers', {}, (_, ctx) => {
    const { request } = ctx
    return JSON.stringify([request?.header('authorization') ?? null, request?.header('DPoP') ?? null, request?.headers])
  })
  server.registerTool('delete', {}, (_, ctx) => {
    checkScopes(ctx.auth as AuthInfo | undefined, ['files:read', 'files:delete'])
    return 'deleted'
  })
  server.registerTool('delete-late', {}, (_, ctx) => {
    ctx.progress(1)
    checkScopes(ctx.auth as AuthInfo | undefined, ['files:delete'])
    return 'deleted'
  })
  return Object.assign(server, { slow: registerSlow(server) })
}

export type Extra = Omit<ServeHttpOptions, 'auth'> & { auth?: Partial<AuthOptions>; server?: McpServer }

/** The guarded server on a port of its own, with an issuer it trusts. */
export async function protectedServer({ auth, server = guarded(), ...options }: Extra = {}) {
  const issuer = await Issuer.start()
  const verify = jwtVerifier({ issuer: issuer.url })
  const serving = await serve(server, { ...options, auth: { verify, authorizationServers: [issuer.url], ...auth } })
  const { url } = serving
  return {
    issuer,
    url,
    serving,
    origin: new URL(url).origin,
    /** A token for this server. */
    token: (claims: TokenClaims = {}, header?: TokenHeader) => issuer.token({ aud: url, ...claims }, header),
    async [Symbol.asyncDispose]() {
      await serving.close()
      await issuer[Symbol.asyncDispose]()
    },
  }
}

export function withToken(token: string, options: PeerOptions = {}): PeerOptions {
  return { ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } }
}

export function openWith(url: string, revision: RevisionId, token: string): Promise<Peer> {
  return Peer.open(url, revision, withToken(token))
}

/** The parameters of a challenge of one scheme. */
export function challengeOf(answer: Pick<Answer, 'headers'>, scheme = 'Bearer'): Record<string, string> {
  const header = answer.headers['www-authenticate'] ?? ''
  const parts = header.split(/(?:^|, )(?=(?:Bearer|DPoP)(?: |$))/)
  const mine = parts.find((part) => part.split(' ')[0] === scheme)
  if (mine === undefined) throw new Error(`No challenge of ${scheme} in ${header}`)
  return Object.fromEntries([...mine.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]))
}

/** A client's key, and the proofs it makes. */
export class Prover {
  readonly thumbprint: string
  readonly jwk: JWK
  readonly #key: CryptoKey

  private constructor(key: CryptoKey, jwk: JWK, thumbprint: string) {
    this.#key = key
    this.jwk = jwk
    this.thumbprint = thumbprint
  }

  static async create(): Promise<Prover> {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
    const jwk = await exportJWK(publicKey)
    const prover = new Prover(privateKey, jwk, await calculateJwkThumbprint(jwk))
    return prover
  }

  async privateJwk(): Promise<JWK> {
    return exportJWK(this.#key)
  }

  async proof(claims: Record<string, unknown>, header: Record<string, unknown> = {}, key = this.#key): Promise<string> {
    const all = { htm: 'POST', iat: now(), jti: crypto.randomUUID(), ...claims }
    return new SignJWT(all)
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: this.jwk, ...header } as { alg: string })
      .sign(key)
  }
}

export async function sha256(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toString('base64url')
}
