import { type Challenge, parseChallenges } from 'tenon/auth/client'
import { describeResponse, type Probe, type Probed, readObject } from './probe.ts'
import type { StepList } from './steps.ts'

/** What the server says without a token. */
export type ChallengeResult =
  | { readonly kind: 'challenged'; readonly challenge: Challenge | undefined }
  | { readonly kind: 'open' }
  | { readonly kind: 'broken' }

/** Sends a request without a token: the server should refuse it, and say where to get one. */
export async function checkChallenge(
  probe: Probe,
  headers: Readonly<Record<string, string>>,
  steps: StepList,
): Promise<ChallengeResult> {
  const probed = await probe.postInitialize(headers)
  const { status } = probed.request
  if (status === 401) return { kind: 'challenged', challenge: readChallenge(probed, steps) }
  const common = { title, expected, request: probed.request }
  if (isAnswer(probed)) {
    steps.add({ ...common, outcome: 'ok', found: `${describeResponse(probed)}: no token is required` })
    return { kind: 'open' }
  }
  steps.add({ ...common, outcome: 'failed', found: describeResponse(probed), advice: adviceFor(probed) })
  return { kind: 'broken' }
}

const title = 'Request without a token'
const expected = 'HTTP 401 with WWW-Authenticate: Bearer resource_metadata="..."'

function readChallenge({ request, headers }: Probed, steps: StepList): Challenge | undefined {
  const header = headers.get('www-authenticate')
  const challenges = parseChallenges(header ?? undefined)
  const challenge = challenges.find(({ scheme }) => scheme === 'bearer' || scheme === 'dpop')
  const common = { title, expected, request }
  if (header === null) {
    const advice = 'Send WWW-Authenticate with each 401. Clients have to guess where the metadata is.'
    steps.add({ ...common, outcome: 'warning', found: 'HTTP 401 without WWW-Authenticate', advice })
  } else if (!challenge) {
    const advice = 'Add a Bearer challenge: WWW-Authenticate: Bearer resource_metadata="https://...".'
    steps.add({ ...common, outcome: 'warning', found: `WWW-Authenticate: ${header}`, advice })
  } else if (challenge.params.resource_metadata === undefined) {
    const advice = 'Add resource_metadata="https://..." to the challenge (RFC 9728, 5.1).'
    steps.add({ ...common, outcome: 'warning', found: `WWW-Authenticate: ${header}`, advice })
  } else steps.add({ ...common, outcome: 'ok', found: `WWW-Authenticate: ${header}` })
  return challenge
}

function isAnswer({ request: { status }, headers, body }: Probed): boolean {
  if (status === null || status >= 300) return readObject(body)?.jsonrpc === '2.0' && status !== 403
  const type = headers.get('content-type') ?? ''
  return type.startsWith('text/event-stream') || readObject(body)?.jsonrpc === '2.0'
}

function adviceFor({ request: { status }, headers }: Probed): string {
  if (status === null) return 'Check the URL, and whether the server is running.'
  if (status === 403) return 'Answer 401 if the token is missing. 403 means that a valid token does not allow this.'
  if (status >= 300 && status < 400) return `Use the URL that it redirects to: ${headers.get('location') ?? 'unknown'}`
  return 'Is this the URL of an MCP server? The path is often /mcp.'
}
