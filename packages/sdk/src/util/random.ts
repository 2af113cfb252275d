/**
 * The library's only source of randomness. Draw only while handling a request or call, never while a module loads:
 * Cloudflare Workers forbid it there. A simulation replaces the methods.
 */
export const random = {
  /** Returns bytes from a cryptographically secure generator. */
  bytes: (length: number): Uint8Array<ArrayBuffer> => crypto.getRandomValues(new Uint8Array(length)),
  /** Returns a version 4 UUID from a cryptographically secure generator. */
  uuid: () => crypto.randomUUID(),
  /** Returns a number from 0 up to 1. Predictable, so use it for jitter only. */
  fraction: (): number => Math.random(),
}
