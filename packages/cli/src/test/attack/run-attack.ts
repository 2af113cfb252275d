import type { ServerCapabilities, Tool } from 'tenon'
import type { ServerConfig } from 'tenon/host'
import type { Contract } from '../../contract/contract.ts'
import { type CheckResult, fail, type Outcome, skip } from '../check.ts'
import type { AttackCheck, AttackContext } from './attack-check.ts'
import { httpChecks } from './http-checks.ts'
import { HttpPeer } from './http-peer.ts'
import { messageChecks } from './message-checks.ts'
import type { RawPeer } from './raw-peer.ts'
import { StdioPeer } from './stdio-peer.ts'
import { toolChecks } from './tool-checks.ts'

/** What the safety checks need to know. */
export interface AttackSubject {
  readonly config: ServerConfig
  readonly headers: Readonly<Record<string, string>>
  readonly contract: Contract
  readonly capabilities: ServerCapabilities
  /** Whether tools without readOnlyHint may be called. */
  readonly mayCallTools: boolean
  readonly timeoutMs: number
}

const maxTools = 50

/** Runs the safety checks one after the other. After each, the server must still answer. */
export async function runAttack(subject: AttackSubject, onResult: (result: CheckResult) => void): Promise<void> {
  const http = 'url' in subject.config ? await openHttp(subject) : undefined
  const peer = http ?? (await openStdio(subject))
  try {
    const context = toContext(subject, peer, http)
    for (const check of [...messageChecks, ...httpChecks, ...toolChecks])
      onResult({ group: 'safety', name: check.name, ...(await runCheck(check, context)) })
  } finally {
    await peer.close()
  }
}

function openHttp({ config, headers, timeoutMs }: AttackSubject): Promise<HttpPeer> {
  if (!('url' in config)) throw new TypeError('Not a URL')
  return HttpPeer.open(config.url, { ...config.headers, ...headers }, timeoutMs)
}

function openStdio({ config, timeoutMs }: AttackSubject): Promise<StdioPeer> {
  if (!('command' in config)) throw new TypeError('Not a command')
  return StdioPeer.open(config, timeoutMs)
}

function toContext(subject: AttackSubject, peer: RawPeer, http: HttpPeer | undefined): AttackContext {
  const { contract, capabilities, mayCallTools, timeoutMs } = subject
  const isCallable = ({ annotations }: Tool) => mayCallTools || annotations?.readOnlyHint === true
  const tools = contract.tools.filter(isCallable).slice(0, maxTools)
  const noTools =
    contract.tools.length === 0
      ? 'The server has no tools.'
      : 'No tool has readOnlyHint. Pass --call-tools to call the others as well.'
  return { peer, http, contract, capabilities, tools, noTools, timeoutMs }
}

async function runCheck(check: AttackCheck, context: AttackContext): Promise<Outcome> {
  const { peer, http } = context
  if (check.http && !http) return skip('It is about HTTP; this is a stdio server.')
  if (!(await peer.isAlive())) {
    const isBack = await restart(peer)
    if (!isBack) return skip('The server no longer answers.')
  }
  const outcome = await attempt(check, context)
  if (await peer.isAlive()) return outcome
  const isBack = await restart(peer)
  return fail(`${outcome.reason} Afterwards the server did not answer${isBack ? ' until it was restarted' : ''}.`)
}

async function attempt(check: AttackCheck, context: AttackContext): Promise<Outcome> {
  try {
    return await check.run(context)
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

async function restart(peer: RawPeer): Promise<boolean> {
  try {
    await peer.restart()
    return await peer.isAlive()
  } catch {
    return false
  }
}
