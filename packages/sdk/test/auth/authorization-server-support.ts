import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as oauth from 'oauth4webapi'
import {
  type AuthorizationServerOptions,
  type ClientMetadata,
  startAuthorizationServer,
  type TestAuthorizationServer,
} from 'tenon/testing'

export const callback = 'http://127.0.0.1:9/callback'
export const resource = 'https://mcp.example.com/mcp'
export const insecure = { [oauth.allowInsecureRequests]: true }

/** A server with a public client, as `oauth4webapi` sees them. */
export async function start(options: AuthorizationServerOptions = {}) {
  const as = await startAuthorizationServer(options)
  const client = register(as, { redirect_uris: [callback] })
  return { as, client, metadata: await discover(as), [Symbol.asyncDispose]: () => as.close() }
}

/** A client as it sees itself. */
export function register(as: TestAuthorizationServer, metadata?: ClientMetadata): oauth.Client {
  return { client_id: as.registerClient(metadata).client_id }
}

/** JSON that the test knows the shape of. */
export async function jsonOf(response: Response): Promise<Record<string, string>> {
  return (await response.json()) as Record<string, string>
}

export async function discover(as: TestAuthorizationServer, algorithm: 'oauth2' | 'oidc' = 'oauth2') {
  const issuer = new URL(as.issuer)
  const response = await oauth.discoveryRequest(issuer, { algorithm, ...insecure })
  return oauth.processDiscoveryResponse(issuer, response)
}

export interface Login {
  as: TestAuthorizationServer
  client: oauth.Client
  metadata: oauth.AuthorizationServer
  auth?: oauth.ClientAuth
  params?: Record<string, string>
  dpop?: oauth.DPoPHandle
}

/** The first half: what comes back in the redirect. */
export async function authorize({ client, metadata, params }: Login) {
  const verifier = oauth.generateRandomCodeVerifier()
  const url = new URL(metadata.authorization_endpoint!)
  const query = {
    client_id: client.client_id,
    redirect_uri: callback,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'the state',
    resource,
    ...params,
  }
  for (const [name, value] of Object.entries(query)) if (value !== '') url.searchParams.set(name, value)
  const response = await fetch(url, { redirect: 'manual' })
  const location = response.headers.get('location')
  return { response, verifier, redirect: location === null ? undefined : new URL(location) }
}

export async function redeem(login: Login, redirect: URL, verifier: string) {
  const { client, metadata, auth = oauth.None(), dpop } = login
  const params = oauth.validateAuthResponse(metadata, client, redirect, 'the state')
  const options = { additionalParameters: { resource }, ...(dpop && { DPoP: dpop }), ...insecure }
  const response = await oauth.authorizationCodeGrantRequest(
    metadata,
    client,
    auth,
    params,
    callback,
    verifier,
    options,
  )
  return oauth.processAuthorizationCodeResponse(metadata, client, response)
}

export async function login(login: Login) {
  const { redirect, verifier } = await authorize(login)
  return redeem(login, redirect!, verifier)
}

export async function refresh({ metadata, client, auth = oauth.None(), dpop }: Login, token: string, extra = {}) {
  const options = { additionalParameters: { resource, ...extra }, ...(dpop && { DPoP: dpop }), ...insecure }
  const response = await oauth.refreshTokenGrantRequest(metadata, client, auth, token, options)
  return oauth.processRefreshTokenResponse(metadata, client, response)
}

/** Any form to any endpoint. */
export async function post(address: string, form: Record<string, string> | [string, string][], headers = {}) {
  const response = await fetch(address, { method: 'POST', body: new URLSearchParams(form), headers })
  return { status: response.status, headers: response.headers, body: JSON.parse((await response.text()) || '{}') }
}

export function errorOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: { error?: string }) => error.error ?? String(error),
  )
}

/** Serves what the handler answers, for documents about clients. */
export async function host(
  handler: (origin: string, path: string) => { body: string; headers?: Record<string, string> },
) {
  const asked: string[] = []
  const http: Server = createServer((request, response) => {
    asked.push(request.url!)
    const { body, headers } = handler(origin, request.url!)
    response.writeHead(headers?.location ? 302 : 200, { 'content-type': 'application/json', ...headers }).end(body)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const close = async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  }
  return { origin, asked, [Symbol.asyncDispose]: close }
}
