import type { Definitions } from '../definitions.ts'
import { knownRegistryName } from '../sandbox/known-packages.ts'
import type { Finding } from './finding.ts'
import { toExcerpt } from './visible.ts'

/** Finds a server whose name looks like the name of a well-known package or of its entry in a registry. */
export function checkIdentity({ identity }: Definitions): Finding[] {
  const name = identity?.name
  if (name === undefined) return []
  const known = knownRegistryName(name)
  if (known === undefined || known === name) return []
  const message = `The name of the server looks like "${toExcerpt(known, 80)}". Check that it is the one that you want.`
  return [{ rule: 'look-alike', severity: 'high', where: 'server', message, excerpt: toExcerpt(name, 80) }]
}
