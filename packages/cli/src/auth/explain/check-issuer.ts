import { isSecure } from './check-resource.ts'
import { describeResponse, type Probe, readObject } from './probe.ts'
import type { Check, StepList, StepRequest } from './steps.ts'

const title = 'Metadata of the authorization server'

/** Fetches the metadata of the authorization server (RFC 8414, OpenID Connect Discovery) and checks what clients need of it. */
export async function checkIssuer(issuer: string, probe: Probe, steps: StepList): Promise<boolean> {
  const expected = 'HTTP 200 and JSON with "issuer", "authorization_endpoint" and "token_endpoint"'
  for (const place of placesFor(issuer)) {
    const probed = await probe.get(place)
    const { request } = probed
    const document = request.status === 200 ? readObject(probed.body) : undefined
    if (document) {
      const before = steps.steps.length
      steps.addChecks(title, describe(document), checksFor(document, issuer), request)
      addRegistration(document, request, steps)
      return !steps.steps.slice(before).some(({ outcome }) => outcome === 'failed')
    }
    steps.add({ title, outcome: 'info', expected, found: describeResponse(probed), request })
  }
  const advice = `Publish it at ${placesFor(issuer)[0]?.href ?? issuer}.`
  steps.add({ title, outcome: 'failed', expected, found: `${issuer} publishes no metadata`, advice })
  return false
}

/** In the order in which clients look (2025-11-25 authorization, metadata discovery). */
function placesFor(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const places = [`/.well-known/oauth-authorization-server${path}`, `/.well-known/openid-configuration${path}`]
  if (path !== '') places.push(`${path}/.well-known/openid-configuration`)
  return places.map((place) => new URL(place, origin))
}

function describe(document: Readonly<Record<string, unknown>>): string {
  return `issuer ${String(document.issuer)}, token endpoint ${String(document.token_endpoint)}`
}

type Document = Readonly<Record<string, unknown>>

function checksFor(document: Document, issuer: string): Check[] {
  const { code_challenge_methods_supported: challenges } = document
  return [
    {
      holds: document.issuer === issuer,
      outcome: 'failed',
      expected: `"issuer" is exactly ${issuer}`,
      found: `"issuer": ${JSON.stringify(document.issuer)}`,
      advice: 'Both must be equal, including a slash at the end (RFC 8414, 3.3).',
    },
    ...['authorization_endpoint', 'token_endpoint'].map((name) => endpointCheck(document, name)),
    {
      holds: Array.isArray(challenges) && challenges.includes('S256'),
      outcome: 'failed',
      expected: '"code_challenge_methods_supported" contains "S256"',
      found: `"code_challenge_methods_supported": ${JSON.stringify(challenges)}`,
      advice: 'MCP clients refuse to log in without PKCE.',
    },
    listCheck(document, 'response_types_supported', 'code', 'failed'),
    listCheck(document, 'grant_types_supported', 'authorization_code', 'failed'),
    listCheck(document, 'grant_types_supported', 'refresh_token', 'info'),
    {
      ...listCheck(document, 'token_endpoint_auth_methods_supported', 'none', 'warning'),
      advice: 'Clients on the machine of a user cannot keep a secret, so they need the method "none".',
    },
    {
      holds: document.authorization_response_iss_parameter_supported === true,
      outcome: 'info',
      expected: '"authorization_response_iss_parameter_supported" is true (RFC 9207)',
      found: JSON.stringify(document.authorization_response_iss_parameter_supported) ?? 'missing',
      advice: 'It protects clients that use several authorization servers.',
    },
  ]
}

function endpointCheck(document: Document, name: string): Check {
  return {
    holds: isSecure(document[name]),
    outcome: 'failed',
    expected: `"${name}" is an https: URL`,
    found: `"${name}": ${JSON.stringify(document[name])}`,
  }
}

/** A list that is missing has the default of its specification, which contains the value. */
function listCheck(document: Document, name: string, value: string, outcome: Check['outcome']): Check {
  const list = document[name]
  return {
    holds: list === undefined || (Array.isArray(list) && list.includes(value)),
    outcome,
    expected: `"${name}" contains "${value}"`,
    found: `"${name}": ${JSON.stringify(list)}`,
  }
}

function addRegistration(document: Document, request: StepRequest, steps: StepList): void {
  const ways = [
    ...(document.client_id_metadata_document_supported === true ? ['Client ID Metadata Documents'] : []),
    ...(isSecure(document.registration_endpoint) ? [`registration at ${String(document.registration_endpoint)}`] : []),
  ]
  const common = { title: 'Registration of clients', request }
  const expected = '"client_id_metadata_document_supported": true, or a "registration_endpoint"'
  if (ways.length > 0) return steps.add({ ...common, outcome: 'ok', expected, found: ways.join(', ') })
  const advice = 'Users have to register a client by hand: tenon login --client-id <id>.'
  steps.add({ ...common, outcome: 'warning', expected, found: 'Neither', advice })
}
