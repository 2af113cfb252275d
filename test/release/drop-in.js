// Checks the drop-in packages with "Are the types wrong?": every entry point, by `import` and by `require`, with each module
// setting. They promise what the official packages do, which have both kinds of declarations.
import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { packPackages } from '../../scripts/packages.js'

/** Modules that programs import by the pattern `./*.js`, which cannot be listed. */
const patternModules = [
  'client/index.js',
  'client/streamableHttp.js',
  'server/mcp.js',
  'shared/protocol.js',
  'types.js',
]

const problems = []
for (const { name, path } of packPackages().filter((packed) => packed.name.startsWith('@tenon/compat-'))) {
  const tarball = createPackageFromTarballData(new Uint8Array(readFileSync(path)))
  const entrypoints = name === '@tenon/compat-v1' ? { includeEntrypoints: patternModules } : {}
  const { entrypoints: checked, problems: found } = await checkPackage(tarball, entrypoints)
  for (const problem of found.filter((each) => !isExpected(each))) problems.push(`${name}: ${JSON.stringify(problem)}`)
  console.log(`types: ${name}, ${Object.keys(checked).length} entry points`)
}
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}

/** Before `exports` there was no way to name subpaths but `typesVersions`, which does not reach JavaScript. */
function isExpected({ kind, resolutionKind }) {
  return kind === 'NoResolution' && resolutionKind === 'node10'
}
