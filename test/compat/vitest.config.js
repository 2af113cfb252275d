// Runs tests of the official SDK 1.x against `packages/compat-v1`: imports of its `src/` lead to our build.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = resolve(process.env.TENON_V1_SOURCE)
const compat = fileURLToPath(new URL('../../packages/compat-v1/dist/esm', import.meta.url))
const usesOriginal = process.env.TENON_COMPAT_BASELINE === '1'
const requireFromSource = createRequire(join(source, 'package.json'))

/** Programs and helpers of the suite that are in its `src/` too. They use the SDK, but are not part of it. */
const notTheSdk = ['__fixtures__', 'examples', '__mocks__']

const redirect = {
  name: 'redirect-to-compat',
  enforce: 'pre',
  resolveId(id, importer) {
    if (usesOriginal) return null
    // Programs have one copy of zod, so the tests must not see two.
    if (id === 'zod' || id.startsWith('zod/')) return requireFromSource.resolve(id).replace(/\.cjs$/, '.js')
    // A test mocks the package that the official SDK creates PKCE pairs with.
    if (id === 'pkce-challenge') return join(compat, 'client/oauth/pkce.js')
    if (!importer || !id.startsWith('.')) return null
    const path = relative(join(source, 'src'), resolve(dirname(importer), id))
    if (path.startsWith('..') || notTheSdk.includes(path.split(sep)[0])) return null
    const target = join(compat, path.replace(/\.ts$/, '.js'))
    return existsSync(target) ? target : null
  },
}

export default {
  root: source,
  plugins: [redirect],
  test: {
    globals: true,
    environment: 'node',
    setupFiles: [join(source, 'vitest.setup.ts')],
    include: ['test/**/*.test.ts'],
    exclude: ['test/conformance/**'],
    testTimeout: 15_000,
    maxWorkers: 2,
  },
}
