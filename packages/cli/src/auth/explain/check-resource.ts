import type { Challenge } from 'tenon/auth/client'
import { isLoopbackHost } from 'tenon/internal'
import { describeResponse, type Probe, readObject } from './probe.ts'
import type { Check, StepList, StepRequest } from './steps.ts'

/** What the metadata of the server says. */
export interface ResourceFound {
  /** The authorization server to use; undefined if the metadata is missing. */
  readonly issuer: string | undefined
}

const title = 'Metadata of the server'
const wellKnown = '/.well-known/oauth-protected-resource'

/** Fetches the protected resource metadata (RFC 9728): where the challenge says, else at the well-known places. */
export async function checkResource(
  server: URL,
  challenge: Challenge | undefined,
  probe: Probe,
  steps: StepList,
): Promise<ResourceFound | undefined> {
  const expected = 'HTTP 200 and JSON with "resource" and "authorization_servers"'
  for (const place of placesFor(server, challenge)) {
    const probed = await probe.get(place)
    const { request } = probed
    const document = request.status === 200 ? readObject(probed.body) : undefined
    if (document) return readDocument(document, { server, place, request, steps })
    const isPromised = challenge?.params.resource_metadata !== undefined
    const advice = isPromised ? 'The challenge names this URL, so clients look nowhere else.' : undefined
    const found = request.status === 200 ? `${describeResponse(probed)}: not a JSON object` : describeResponse(probed)
    steps.add({ title, outcome: isPromised ? 'failed' : 'info', expected, found, advice, request })
    if (isPromised) return undefined
  }
  steps.add({
    title,
    outcome: 'warning',
    expected,
    found: 'The server publishes no metadata',
    advice: `Publish it at ${server.origin}${wellKnown}${server.pathname}. Only clients of 2025-03-26 work without.`,
  })
  return { issuer: undefined }
}

function placesFor({ origin, pathname, href }: URL, challenge: Challenge | undefined): URL[] {
  const named = challenge?.params.resource_metadata
  if (named !== undefined && URL.canParse(named, href)) return [new URL(named, href)]
  const path = pathname.replace(/\/$/, '')
  return [...new Set([wellKnown + path, wellKnown])].map((place) => new URL(place, origin))
}

interface DocumentContext {
  readonly server: URL
  readonly place: URL
  readonly request: StepRequest
  readonly steps: StepList
}

function readDocument(
  document: Readonly<Record<string, unknown>>,
  { server, place, request, steps }: DocumentContext,
): ResourceFound | undefined {
  const { resource, authorization_servers: issuers, bearer_methods_supported: methods } = document
  const own = server.origin + server.pathname
  const names = place.href === server.origin + wellKnown ? [own, server.origin] : [own]
  const list = Array.isArray(issuers) ? issuers.filter((each): each is string => typeof each === 'string') : []
  const [issuer] = list
  const checks: Check[] = [
    {
      holds: typeof resource === 'string' && names.some((name) => isSame(name, resource)),
      outcome: 'failed',
      expected: `"resource" is the URL of the server: ${own}`,
      found: `"resource": ${JSON.stringify(resource)}`,
      advice:
        'Tokens for another resource must not be sent here (RFC 9728, 3.3). Configure the public URL of the server.',
    },
    {
      holds: issuer !== undefined,
      outcome: 'failed',
      expected: '"authorization_servers" has at least one issuer',
      found: `"authorization_servers": ${JSON.stringify(issuers)}`,
      advice: 'Add the issuer of the authorization server.',
    },
    {
      holds: issuer === undefined || isSecure(issuer),
      outcome: 'failed',
      expected: 'The issuer is an https: URL',
      found: `"authorization_servers": ${JSON.stringify(issuers)}`,
    },
    {
      holds: !Array.isArray(methods) || methods.includes('header'),
      outcome: 'failed',
      expected: '"bearer_methods_supported" contains "header"',
      found: `"bearer_methods_supported": ${JSON.stringify(methods)}`,
      advice: 'MCP clients send tokens in the Authorization header only.',
    },
  ]
  steps.addChecks(title, `resource ${String(resource)}, issuer ${list.join(', ')}`, checks, request)
  return steps.hasFailed ? undefined : { issuer }
}

/** Apart from the case of scheme and host, and a slash after a bare origin. */
function isSame(one: string, other: string): boolean {
  return URL.canParse(other) && new URL(one).href === new URL(other).href
}

/** Whether a URL is https:, or on this machine. */
export function isSecure(url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const parsed = new URL(url)
  return parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isLoopbackHost(parsed.hostname))
}
