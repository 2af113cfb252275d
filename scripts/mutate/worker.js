// Runs tests against one mutant after another. Vitest stays loaded, so that only the mutated file is transformed again.
import { createVitest } from 'vitest/node'

const root = new URL('../..', import.meta.url).pathname

// This process leads its group, which contains the workers of vitest and what they start.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))

/** What fails in the current run. Vitest itself also remembers what failed in earlier ones. */
let failures = []
let finished = 0
const reporter = {
  onTestCaseResult(test) {
    if (test.result().state === 'failed') failures.push(`${test.module.relativeModuleId} > ${test.fullName}`)
  },
  onTestModuleEnd(module) {
    if (module.state() === 'passed' || module.state() === 'skipped') finished++
    // A file that cannot be loaded has no tests.
    if (module.errors().length > 0) failures.push(module.relativeModuleId)
  },
  onTestSuiteResult(suite) {
    if (suite.errors().length > 0) failures.push(`${suite.module.relativeModuleId} > ${suite.fullName}`)
  },
  onTestRunEnd(_modules, unhandledErrors) {
    if (unhandledErrors.length > 0) failures.push('an unhandled error')
  },
}

const vitest = await createVitest('test', {
  config: new URL('./vitest.config.js', import.meta.url).pathname,
  root,
  watch: false,
  reporters: [reporter],
})
await vitest.standalone()

process.on('message', async ({ mutant, tests }) => {
  const file = root + mutant.path
  globalThis.__tenonRun = { mutant, order: tests.map(({ path }) => root + path) }
  vitest.invalidateFile(file)
  const specifications = tests.map(({ path, project }) => projectOf(project).createSpecification(root + path))
  failures = []
  finished = 0
  await vitest.runTestSpecifications(specifications)
  globalThis.__tenonRun = undefined
  vitest.invalidateFile(file)
  process.send({ killedBy: failures[0], finished })
})
process.send({ isReady: true })

function projectOf(name) {
  return vitest.projects.find((project) => project.name === name)
}
