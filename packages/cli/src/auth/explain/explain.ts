import type { Output } from '../../output.ts'
import { checkChallenge } from './check-challenge.ts'
import { checkIssuer } from './check-issuer.ts'
import { checkResource } from './check-resource.ts'
import { Probe } from './probe.ts'
import { type ExplainStep, type Explanation, StepList } from './steps.ts'
import { tryLogin } from './try-login.ts'

/** Options of `explainAuth`. */
export interface ExplainOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Also log in. */
  readonly login: boolean
  readonly opensBrowser: boolean
  readonly clientId?: string | undefined
  readonly output: Output
  onStep(step: ExplainStep): void
}

/** Makes every request of discovery, and of a login if wanted, and says what is wrong with the server. */
export async function explainAuth(url: string, options: ExplainOptions): Promise<Explanation> {
  const server = new URL(url)
  const steps = new StepList((step) => options.onStep(step))
  const probe = new Probe(server, options.timeoutMs)
  const result = await checkChallenge(probe, options.headers, steps)
  if (result.kind === 'open') return conclude(url, steps, 'no-authorization')
  if (result.kind === 'broken') return conclude(url, steps)
  const found = await checkResource(server, result.challenge, probe, steps)
  if (found && (await checkIssuer(found.issuer ?? server.origin, probe, steps)) && options.login) {
    await tryLogin(server, options, steps)
  }
  return conclude(url, steps)
}

function conclude(url: string, { steps }: StepList, known?: 'no-authorization'): Explanation {
  if (known) return { url, verdict: known, summary: 'The server requires no authorization.', steps }
  const failed = steps.filter(({ outcome }) => outcome === 'failed')
  const warnings = steps.filter(({ outcome }) => outcome === 'warning')
  if (failed.length > 0) {
    const [first] = failed
    const more = failed.length > 1 ? ` There are ${failed.length} problems.` : ''
    const summary = `Logging in cannot work. ${first?.title}: expected ${first?.expected}; found ${first?.found}.${more}`
    return { url, verdict: 'broken', summary, steps }
  }
  if (warnings.length === 0) return { url, verdict: 'ok', summary: 'Everything that clients need is there.', steps }
  const summary = `Logging in can work, but some clients may fail: ${warnings.map(({ found }) => found).join('; ')}.`
  return { url, verdict: 'warnings', summary, steps }
}
