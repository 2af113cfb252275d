import type { EraName } from '../protocol/revision.ts'

const maxKnown = 1_000

/** The era that each server spoke last, by its address, so that a second connection need not find out again. */
const known = new Map<string, EraName>()

/** 2026-07-28 versioning: a client may remember what a server speaks for as long as the server stays the same. */
export function knownEra(peer: string | undefined): EraName | undefined {
  return peer === undefined ? undefined : known.get(peer)
}

/** Remembers the last {@link maxKnown} servers. */
export function rememberEra(peer: string, era: EraName): void {
  known.delete(peer)
  known.set(peer, era)
  if (known.size > maxKnown) known.delete(known.keys().next().value!)
}

/** For tests, where one port is many servers. */
export function forgetEras(): void {
  known.clear()
}
