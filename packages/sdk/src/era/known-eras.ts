import type { EraName } from '../protocol/revision.ts'

const maxKnown = 1_000

/** The era of each server by address, so that the next connection need not negotiate it again. */
const known = new Map<string, EraName>()

/** 2026-07-28 versioning: a client may cache the era of a server. */
export function knownEra(peer: string | undefined): EraName | undefined {
  return peer === undefined ? undefined : known.get(peer)
}

/** Evicts the oldest entry if the cache is full. */
export function rememberEra(peer: string, era: EraName): void {
  known.delete(peer)
  known.set(peer, era)
  if (known.size > maxKnown) known.delete(known.keys().next().value!)
}

/** For tests, in which different servers use the same port. */
export function forgetEras(): void {
  known.clear()
}
