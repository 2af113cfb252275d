// Runs the tests of the official packages 2.x in the copy that `scripts/compat-v2.js` prepares.
export default {
  test: {
    globals: true,
    environment: 'node',
    include: ['test/**/*.test.ts'],
    // These need Bun, Deno and wrangler.
    exclude: ['**/bun.test.ts', '**/deno.test.ts', '**/cloudflareWorkers.test.ts', '**/node_modules/**'],
    // The packages under test are loaded by Node, as in a program.
    server: { deps: { external: [/\/packages\/(compat-v\d|sdk)/] } },
    testTimeout: 15_000,
    maxWorkers: 2,
  },
}
