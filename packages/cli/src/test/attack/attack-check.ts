import type { ServerCapabilities, Tool } from 'tenon'
import type { Contract } from '../../contract/contract.ts'
import type { Outcome } from '../check.ts'
import type { HttpPeer } from './http-peer.ts'
import type { RawPeer } from './raw-peer.ts'

/** What a check can use. */
export interface AttackContext {
  readonly peer: RawPeer
  /** The same connection, if it is HTTP. */
  readonly http: HttpPeer | undefined
  readonly contract: Contract
  readonly capabilities: ServerCapabilities
  /** The tools that may be called. */
  readonly tools: readonly Tool[]
  /** Why there is no tool to call. */
  readonly noTools: string
  readonly timeoutMs: number
}

/** A safety check. */
export interface AttackCheck {
  readonly name: string
  /** It examines HTTP, and is skipped on stdio. */
  readonly http?: boolean
  run(context: AttackContext): Promise<Outcome>
}
