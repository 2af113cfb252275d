// Verifies what would be published: the contents of the packages, an installation into an empty project, and the types with
// every module setting that users may have. Prints the sizes.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { build } from 'esbuild'
import { packPackages } from '../../scripts/packages.js'

const root = new URL('../..', import.meta.url).pathname
const workspace = readJson(join(root, 'package.json'))
const problems = []

const packages = packPackages().map((packed) => ({
  ...packed,
  manifest: readJson(join(folderOf(packed.name), 'package.json')),
}))
const library = packages.find(({ name }) => name === 'tenon')
const subpaths = Object.keys(library.manifest.exports).filter((subpath) => subpath !== './package.json')

checkVersions()
for (const each of packages) checkContents(each)

const project = mkdtempSync(join(tmpdir(), 'tenon-release-'))
try {
  install()
  const names = checkImports()
  checkCommand()
  for (const setting of moduleSettings()) checkTypes(setting, names)
  await checkTarball()
  await printSizes()
} finally {
  rmSync(project, { recursive: true, force: true })
}

if (problems.length > 0) {
  console.error(`\n${problems.join('\n')}`)
  process.exit(1)
}
console.log('\nrelease: the packages can be published')

/** All packages are released together, so their versions must agree. */
function checkVersions() {
  const { version } = library
  for (const each of packages) {
    if (each.version !== version) problems.push(`${each.name} has version ${each.version}, tenon has ${version}`)
    for (const { name } of packages) {
      const wanted = each.manifest.dependencies?.[name]
      if (wanted !== undefined && wanted !== version)
        problems.push(`${each.name} depends on ${name} ${wanted}, not ${version}`)
    }
  }
  if (!readFileSync(join(root, 'CHANGELOG.md'), 'utf8').includes(`\n## ${version}\n`))
    problems.push(`CHANGELOG.md has no section for ${version}`)
}

function checkContents({ name, files, manifest }) {
  const paths = files.map(({ path }) => path)
  for (const path of ['README.md', 'LICENSE', ...targetsOf(manifest)])
    if (!paths.includes(path)) problems.push(`${name}: ${path} is not in the package`)
  // Templates are sources on purpose.
  const own = paths.filter((path) => !path.startsWith('templates/'))
  const strays = own.filter((path) => /\.test\.|\.map$|\.tsbuildinfo$|(?<!\.d)\.ts$/.test(path))
  if (strays.length > 0) problems.push(`${name}: these files must not be in the package: ${strays.join(', ')}`)
  const stale = paths.filter((path) => path.endsWith('.d.ts') && !existsSync(join(folderOf(name), sourceOf(path))))
  if (stale.length > 0)
    problems.push(`${name}: these files have no source. Remove dist and build again: ${stale.join(', ')}`)
}

/** The build does not delete the output of sources that were moved or removed. */
function sourceOf(path) {
  return path.replace(/^dist\//, 'src/').replace(/\.d\.ts$/, '.ts')
}

/** The files that the manifest refers to. */
function targetsOf({ exports = {}, bin = {}, main, types }) {
  const leaves = (target) => (typeof target === 'string' ? target : Object.values(target).flatMap(leaves))
  const targets = Object.values(exports).flatMap(leaves)
  return [...targets, ...Object.values(bin), main, types]
    .filter((path) => path !== undefined)
    .map((path) => path.replace(/^\.\//, ''))
}

function install() {
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  const typesForNode = `@types/node@${workspace.devDependencies['@types/node']}`
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', ...packages.map(({ path }) => path), typesForNode])
}

/** Loads every subpath with `import` and with `require`. Returns the name of one export for each. */
function checkImports() {
  const names = new Map()
  for (const subpath of subpaths) {
    const specifier = specifierOf(subpath)
    const imported = run('node', ['-p', `import('${specifier}').then((all) => console.log(Object.keys(all)[0])), ''`])
    names.set(subpath, imported.trim())
    const required = run('node', ['-p', `Object.keys(require('${specifier}'))[0]`])
    if (required.trim() !== imported.trim()) problems.push(`require('${specifier}') gives something else than import`)
  }
  return names
}

function checkCommand() {
  const output = run('npx', ['--no-install', 'tenon', '--help'])
  if (!/^\s+list\b/m.test(output)) problems.push(`\`tenon --help\` does not list the command \`list\`:\n${output}`)
}

/** TypeScript 5.9 is the oldest version that is supported, and the last that has node10. */
function moduleSettings() {
  const modern = [
    { module: 'node16', moduleResolution: 'node16', extension: 'mts' },
    { module: 'nodenext', moduleResolution: 'nodenext', extension: 'mts' },
    // From CommonJS, only nodenext knows that require() loads ES modules.
    { module: 'nodenext', moduleResolution: 'nodenext', extension: 'cts' },
    { module: 'preserve', moduleResolution: 'bundler', extension: 'ts' },
  ]
  return [
    ...['typescript', 'typescript-5'].flatMap((compiler) => modern.map((setting) => ({ compiler, ...setting }))),
    { compiler: 'typescript-5', module: 'es2022', moduleResolution: 'node10', extension: 'ts' },
  ]
}

function checkTypes({ compiler, module, moduleResolution, extension }, names) {
  const title = `${compiler}, module ${module}, moduleResolution ${moduleResolution}, .${extension}`
  const file = `user.${extension}`
  const compilerOptions = { module, moduleResolution, strict: true, target: 'es2022', noEmit: true, types: ['node'] }
  const folder = join(project, title.replaceAll(/\W+/g, '-'))
  mkdirSync(folder)
  writeFileSync(join(folder, file), typedUser(names))
  // Declarations of optional peers are not there.
  const config = { compilerOptions: { ...compilerOptions, skipLibCheck: true }, files: [file] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compile = [join(root, 'node_modules', compiler, 'bin/tsc'), '-p', folder]
  const { status, stdout } = spawnSync(process.execPath, compile, { encoding: 'utf8' })
  if (status !== 0) problems.push(`The types fail with ${title}:\n${stdout}`)
  else console.log(`types: ${title}`)
}

/** A module without types would be `any`, which has every name. */
function typedUser(names) {
  const imports = subpaths.map((subpath, index) => {
    const specifier = specifierOf(subpath)
    return `import { ${names.get(subpath)} as found${index} } from '${specifier}'
// @ts-expect-error
import { isMissing as missing${index} } from '${specifier}'
console.log(found${index}, missing${index})`
  })
  return imports.join('\n')
}

/** Problems that "Are the types wrong?" finds in the tarball. */
async function checkTarball() {
  const result = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(library.path))))
  const found = result.problems.filter((problem) => !isExpected(problem))
  for (const problem of found) problems.push(`arethetypeswrong: ${JSON.stringify(problem)}`)
  if (found.length === 0) console.log('types: arethetypeswrong finds no problem')
}

/** The package has ES modules only, which `require` loads on every supported version of Node. */
function isExpected({ kind }) {
  return kind === 'CJSResolvesToESM'
}

async function printSizes() {
  console.log(`\n${'package'.padEnd(24)} packed  unpacked  files`)
  for (const { name, size, unpackedSize, files } of packages)
    console.log(
      `${name.padEnd(24)} ${kilobytes(size)}  ${kilobytes(unpackedSize).padStart(8)}  ${String(files.length).padStart(5)}`,
    )
  console.log(`\n${'subpath'.padEnd(24)} minified, gzipped`)
  for (const subpath of subpaths)
    console.log(`${specifierOf(subpath).padEnd(24)} ${kilobytes(await bundledSize(subpath)).padStart(17)}`)
}

/** What a subpath costs if all of it is used, without the dependencies. */
async function bundledSize(subpath) {
  const { dependencies, peerDependencies } = library.manifest
  const { outputFiles } = await build({
    stdin: { contents: `export * from '${specifierOf(subpath)}'`, resolveDir: project },
    external: [...Object.keys(dependencies), ...Object.keys(peerDependencies)],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    write: false,
    logLevel: 'error',
  })
  return gzipSync(outputFiles[0].contents, { level: 9 }).length
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} KB`
}

function specifierOf(subpath) {
  return `tenon${subpath.slice(1)}`
}

function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: project, encoding: 'utf8', input: '' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} exited with ${status}:\n${stdout}${stderr}`)
  return stdout
}

function folderOf(name) {
  return join(root, 'packages', name === 'tenon' ? 'sdk' : name.replace(/^@tenon\//, ''))
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
