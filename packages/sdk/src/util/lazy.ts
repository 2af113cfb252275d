/**
 * Creates a value on first use and keeps it. Constructors run while a module loads, where Cloudflare Workers forbid
 * random values, so whatever needs them is created lazily.
 */
export function lazy<T>(create: () => T): () => T {
  let created: { value: T } | undefined
  return () => {
    created ??= { value: create() }
    return created.value
  }
}
