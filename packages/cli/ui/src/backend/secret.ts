const key = 'tenon-inspector-secret'

/**
 * Takes the secret of this start from the address of the page and removes it there, so that it is not in the history or
 * in a screenshot. The tab remembers it until it is closed.
 */
export function takeSecret(): string | undefined {
  const found = fromAddress()
  if (found === undefined) return sessionStorage.getItem(key) ?? undefined
  sessionStorage.setItem(key, found)
  history.replaceState(null, '', location.pathname)
  return found
}

function fromAddress(): string | undefined {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const query = new URLSearchParams(location.search)
  return fragment.get('secret') ?? query.get('secret') ?? undefined
}
