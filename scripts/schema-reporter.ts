import type { Reporter, TestModule } from 'vitest/node'

/** Says at the end how many tests ran without the official schemas, which is easily overlooked above. */
export default class SchemaReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    let count = 0
    for (const module of modules) {
      for (const test of module.children.allTests()) if (test.meta().withoutSchemas) count++
    }
    if (count === 0) return
    console.warn(
      `\n${count} tests ran without checking their messages against the official JSON Schemas, because these could not be fetched.\n` +
        'Run `node scripts/official-schemas.js --required` with access to the npm registry, then test again.\n',
    )
  }
}
