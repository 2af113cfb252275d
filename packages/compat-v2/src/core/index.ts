// What both sides share. Errors and constants exist once, so that `instanceof` works between a server and a client.
export * from './constants.ts'
export * from './errors.ts'
export type * from './types.ts'
