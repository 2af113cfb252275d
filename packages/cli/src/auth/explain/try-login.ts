import { MemoryTokenStore, oauth } from 'tenon/auth/client'
import { connect, type TracedHttpRequest, type TracedHttpResponse, type TraceEvent } from 'tenon/client'
import { redactTraceEvent } from 'tenon/host'
import { describeError } from '../../exit-codes.ts'
import type { Output } from '../../output.ts'
import { showLogin } from '../credentials.ts'
import { readObject } from './probe.ts'
import type { StepList } from './steps.ts'

/** Options of `tryLogin`. */
export interface TryLoginOptions {
  readonly output: Output
  readonly opensBrowser: boolean
  readonly clientId?: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** Logs in with a new client, and uses the token once. Nothing is stored. */
export async function tryLogin(server: URL, options: TryLoginOptions, steps: StepList): Promise<void> {
  const { output, opensBrowser, clientId, headers } = options
  const view = new LoginSteps(steps)
  const showPage = (page: URL) => {
    view.addPage(page)
    return showLogin(page, { output, opensBrowser })
  }
  const auth = oauth({ store: new MemoryTokenStore(), showPage, ...(clientId !== undefined && { clientId }) })
  const expected = 'The server accepts the token'
  try {
    const client = await connect(server, { auth, headers, trace: view.listen, reconnect: { maxRetries: 1 } })
    const found = `The server answers, revision ${client.revision}`
    await client.close()
    steps.add({ title: 'Request with the token', outcome: 'ok', expected, found })
  } catch (error) {
    const { message } = describeError(error)
    steps.add({ title: 'Login', outcome: 'failed', expected, found: message })
  }
}

/** Shows the requests after discovery: registration and tokens. */
class LoginSteps {
  readonly #steps: StepList
  readonly #requests = new Map<string, TracedHttpRequest>()

  constructor(steps: StepList) {
    this.#steps = steps
  }

  readonly listen = (event: TraceEvent): void => {
    if (event.type === 'http-request') this.#requests.set(event.http, event)
    if (event.type === 'http-response' && event.purpose === 'auth' && event.method === 'POST')
      this.#addPost(redactTraceEvent(event), this.#requests.get(event.http))
  }

  addPage(page: URL): void {
    const names = ['response_type', 'code_challenge_method', 'resource', 'scope']
    const found = names.flatMap((name) => (page.searchParams.has(name) ? `${name}=${page.searchParams.get(name)}` : []))
    this.#steps.add({
      title: 'Authorization page',
      outcome: 'ok',
      expected: 'The user logs in, and comes back with a code',
      found: `${page.origin}${page.pathname} with ${found.join(', ')}`,
    })
  }

  #addPost(event: TracedHttpResponse, request: TracedHttpRequest | undefined): void {
    const { method, url, status, durationMs, body = '' } = event
    const isToken = request?.body?.includes('grant_type=') === true
    const document = readObject(body) ?? {}
    const isOk = status >= 200 && status < 300
    const members = isToken ? ['token_type', 'expires_in', 'scope'] : ['client_id', 'token_endpoint_auth_method']
    const named = members.flatMap((name) => (document[name] === undefined ? [] : `${name}: ${String(document[name])}`))
    const problem = [document.error, document.error_description].filter(Boolean).join(': ')
    this.#steps.add({
      title: isToken ? 'Token' : 'Registration',
      outcome: isOk ? 'ok' : 'failed',
      expected: isToken ? 'HTTP 200 and JSON with "access_token"' : 'HTTP 201 and JSON with "client_id"',
      found: `HTTP ${status}${isOk ? (named.length > 0 ? `, ${named.join(', ')}` : '') : `, ${problem || body.slice(0, 200)}`}`,
      request: { method, url, status, durationMs: Math.round(durationMs) },
    })
  }
}
