// The fast tests, with sources that record which functions and branches run (TENON_MUTATE=coverage) or that contain one mutant. Sources are
// changed while they are loaded, so the files themselves stay as they are.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import base from '../../vitest.config.ts'
import { mutate } from './mutants.js'
import { instrument } from './points.js'

const root = new URL('../..', import.meta.url).pathname
const isCoverage = process.env.TENON_MUTATE === 'coverage'

/** Set by the worker before each run: the mutant, and the test files in the order in which they should run. */
const run = () => globalThis.__tenonRun ?? {}

const changed = {
  name: 'tenon-mutate',
  enforce: 'pre',
  transform(code, id) {
    const path = relative(root, id.split('?')[0])
    if (isCoverage && /^packages\/sdk\/src\/.*\.ts$/.test(path) && !path.endsWith('.test.ts')) {
      return { code: instrument(path, readFileSync(id.split('?')[0], 'utf8')), map: null }
    }
    const { mutant } = run()
    return mutant?.path === path ? { code: mutate(code, mutant), map: null } : undefined
  },
}

class InGivenOrder {
  async shard(files) {
    return files
  }

  async sort(files) {
    const order = run().order ?? []
    return files.toSorted((one, other) => order.indexOf(one.moduleId) - order.indexOf(other.moduleId))
  }
}

/** A mutant often makes a test wait for something that never happens. */
const impatient = { testTimeout: 20_000, hookTimeout: 20_000, expect: { poll: { timeout: 10_000 } } }
const projects = base.test.projects.filter(({ test }) => test.name.startsWith('fast-'))

export default defineConfig({
  ...base,
  root,
  plugins: [changed],
  test: {
    ...base.test,
    reporters: [{}],
    ...(isCoverage
      ? { setupFiles: [new URL('./record-hits.js', import.meta.url).pathname, ...base.test.setupFiles] }
      : { maxWorkers: 1, bail: 1, sequence: { sequencer: InGivenOrder }, ...impatient }),
    projects: projects.map((project) =>
      isCoverage ? project : { ...project, test: { ...project.test, ...impatient } },
    ),
  },
})
