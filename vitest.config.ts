import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const entry = (name: string) => new URL(`./packages/sdk/src/entry/${name}.ts`, import.meta.url).pathname

const schemas = new URL('../shared/spec/schema', import.meta.url)
if (!existsSync(schemas)) {
  console.warn('Messages are not checked against the official JSON Schemas: ../shared/spec/schema is not there.')
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^tenon$/, replacement: entry('index') },
      { find: /^tenon\/client\/terminal$/, replacement: entry('terminal') },
      { find: /^tenon\/stores\/(.+)$/, replacement: entry('stores-$1') },
      { find: /^tenon\/(.+)$/, replacement: entry('$1') },
    ],
  },
  test: {
    pool: 'forks',
    // On two cores one would be left idle, though many tests only wait.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['packages/*/{src,test}/**/*.test.ts'],
          exclude: ['**/*.slow.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: { name: 'slow', include: ['packages/*/{src,test}/**/*.slow.test.ts'], testTimeout: 120_000 },
      },
    ],
  },
})
