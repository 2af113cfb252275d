import type { Reporter, TestModule } from 'vitest/node'

/** Reports at the end how many tests ran without the official schemas, because a warning further up is easily missed. */
export default class SchemaReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    let ran = 0
    let skipped = 0
    for (const module of modules) {
      for (const test of module.children.allTests()) if (test.meta().withoutSchemas) ran++
      for (const test of module.children.allTests('skipped')) if (/official schema/.test(test.fullName)) skipped++
    }
    if (ran === 0) return
    console.warn(
      `\n${ran} tests ran without checking their messages against the official JSON Schemas, and ${skipped} were skipped, ` +
        'because the schemas could not be fetched.\n' +
        'Run `node scripts/official-schemas.js --required` with access to the npm registry, then test again.\n',
    )
  }
}
