/**
 * Whether the operator lets requests of 2026-07-28 in without `initialize`, past the sessions and the `initialize` handler of the
 * program. Read once, so that nothing switches it on while the program runs.
 */
export const answersWithoutInitialize: boolean = globalThis.process?.env?.TENON_COMPAT_ANSWER_WITHOUT_INITIALIZE === '1'

/** Requests that `isInitializeRequest` was true for although they are not `initialize`. */
const admitted = new WeakSet<object>()

/** Remembers that a program takes this request for the first of a client, and creates a transport for it. */
export function admit(request: object): void {
  admitted.add(request)
}

/** Whether a program has created the transport of this request for it alone. */
export function wasAdmitted(request: unknown): boolean {
  return typeof request === 'object' && request !== null && admitted.has(request)
}
