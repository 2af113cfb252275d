import { stableSuffix } from './stable-suffix.ts'

const notAllowed = /[^a-zA-Z0-9_-]/g

/**
 * Returns names that an API takes: letters, digits, `_` and `-`. A name that has to be changed gets a suffix that depends on the
 * name alone, so that it stays the same when other tools come and go.
 *
 * @returns The names for the API by the names in the catalog.
 */
export function toApiNames(names: readonly string[], maxLength: number): ReadonlyMap<string, string> {
  const apiNames = new Map<string, string>()
  const taken = new Set<string>()
  const isFine = (name: string) => name !== '' && name.length <= maxLength && name.search(notAllowed) < 0
  // Names that need no change come first, so that a changed name can never take one of them.
  for (const name of names.filter(isFine)) {
    apiNames.set(name, name)
    taken.add(name)
  }
  for (const name of [...names].sort()) {
    if (apiNames.has(name)) continue
    const apiName = unusedName(name, maxLength, taken)
    apiNames.set(name, apiName)
    taken.add(apiName)
  }
  return apiNames
}

function unusedName(name: string, maxLength: number, taken: ReadonlySet<string>): string {
  for (let attempt = 0; ; attempt++) {
    const suffix = `_${stableSuffix(attempt === 0 ? name : `${name} ${attempt}`)}`
    const apiName = name.replaceAll(notAllowed, '_').slice(0, maxLength - suffix.length) + suffix
    if (!taken.has(apiName)) return apiName
  }
}
