import { decodeJwt } from 'jose'
import { verifyAssertion } from './assertions.ts'
import type { RegisteredClient } from './clients.ts'
import { type Call, Refusal } from './http.ts'
import type { ClientAuthMethod } from './options.ts'
import type { State } from './state.ts'

/** What a request says about the client that sends it. */
interface Claim {
  readonly method: ClientAuthMethod
  readonly clientId: string
  /** A secret, or an assertion. */
  readonly proof: string
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The client that sent the request, once it has proved to be it; undefined when the request names none. */
export async function findClient(call: Call, state: State): Promise<RegisteredClient | undefined> {
  try {
    return await identify(call, state)
  } catch (error) {
    if (!(error instanceof Refusal) || call.headers.authorization === undefined) throw error
    // RFC 6749 section 5.2: who came with the header is told so.
    throw new Refusal(error.error, error.message, error.status, { 'www-authenticate': 'Basic realm="clients"' })
  }
}

/** The same, where there must be one. */
export async function authenticate(call: Call, state: State): Promise<RegisteredClient> {
  const client = await findClient(call, state)
  if (!client) throw invalidClient('The request does not say which client it is from')
  return client
}

async function identify(call: Call, state: State): Promise<RegisteredClient | undefined> {
  const claim = readClaim(call)
  if (!claim) return undefined
  const client = await state.clients.find(claim.clientId)
  const expected = client.token_endpoint_auth_method
  if (claim.method !== expected)
    throw invalidClient(`The client is registered for ${expected}, not for ${claim.method}`)
  if (!state.settings.tokenEndpointAuthMethods.includes(expected)) throw invalidClient(`${expected} is not supported`)
  if (expected === 'private_key_jwt') await checkAssertion(claim, client, state)
  else if (expected !== 'none' && claim.proof !== client.client_secret) throw invalidClient('The secret is wrong')
  return client
}

function readClaim(call: Call): Claim | undefined {
  const { params } = call
  const clientId = params.get('client_id')
  const assertion = params.get('client_assertion')
  const secret = params.get('client_secret')
  const basic = basicCredentials(call)
  if ([assertion, secret, basic].filter((it) => it !== undefined).length > 1) {
    throw new Refusal('invalid_request', 'The client authenticates in more than one way')
  }
  if (basic) return sameClient({ method: 'client_secret_basic', ...basic }, clientId)
  if (assertion !== undefined) {
    if (params.need('client_assertion_type') !== assertionType)
      throw invalidClient(`client_assertion_type is ${assertionType}`)
    return sameClient({ method: 'private_key_jwt', clientId: subjectOf(assertion), proof: assertion }, clientId)
  }
  if (clientId === undefined) return undefined
  return { method: secret === undefined ? 'none' : 'client_secret_post', clientId, proof: secret ?? '' }
}

function sameClient(claim: Claim, clientId: string | undefined): Claim {
  if (clientId === undefined || clientId === claim.clientId) return claim
  throw new Refusal('invalid_request', 'client_id is not the client that authenticates')
}

/** RFC 6749 section 2.3.1: each half is form-encoded before they are joined. */
function basicCredentials({ headers }: Call): Pick<Claim, 'clientId' | 'proof'> | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(headers.authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const [id = '', ...secret] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  return { clientId: formDecoded(id), proof: formDecoded(secret.join(':')) }
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidClient('The credentials are not form-encoded')
  }
}

function subjectOf(assertion: string): string {
  try {
    return decodeJwt(assertion).sub ?? ''
  } catch {
    throw invalidClient('The assertion is no JWT')
  }
}

/** RFC 7523 section 3; the audience is the issuer alone, so that an assertion for one server is of no use at another. */
async function checkAssertion({ clientId, proof }: Claim, client: RegisteredClient, state: State): Promise<void> {
  const keys = client.jwks ?? client.jwks_uri
  if (keys === undefined) throw invalidClient('The client has registered no keys')
  const expected = { issuer: clientId, subject: clientId, audience: state.issuer, requiredClaims: ['jti'] }
  const claims = await verifyAssertion(proof, keys, state.settings, expected).catch((error: Error) => {
    throw invalidClient(`The assertion is not good: ${error.message}`)
  })
  if (Array.isArray(claims.aud) && claims.aud.length > 1)
    throw invalidClient('aud of the assertion is the issuer alone')
  const name = `${clientId} ${claims.jti}`
  if (state.usedAssertions.has(name)) throw invalidClient('The assertion was used before')
  state.usedAssertions.add(name)
}

function invalidClient(description: string): Refusal {
  return new Refusal('invalid_client', description, 401)
}
