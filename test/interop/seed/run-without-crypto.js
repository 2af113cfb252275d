// Runs the Web Crypto block of the seed where `globalThis.crypto` is missing, and then serves its server as run.js does.
import assert from 'node:assert/strict'

delete globalThis.crypto
assert.equal(globalThis.crypto, undefined)
await import('../dist/seed/web-crypto.js')
assert.ok(globalThis.crypto.subtle)
process.argv[2] = 'server'
await import('./run.js')
