import { mkdirSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Workspace } from '../support.ts'

const sdk = fileURLToPath(new URL('../../../sdk', import.meta.url))

export const manifest = {
  name: '@ada/weather',
  version: '1.2.3',
  description: 'Tells the weather',
  author: 'Ada <ada@example.com> (https://ada.example)',
  license: 'MIT',
  type: 'module',
  bin: './dist/main.js',
  files: ['dist'],
  repository: 'github:ada/weather',
  mcpName: 'io.github.ada/weather',
  engines: { node: '>=20.19' },
  dependencies: { tenon: '*' },
  devDependencies: { 'only-for-tests': '*' },
}

const program = `import { McpServer, serveStdio } from 'tenon/server'
const server = new McpServer({ name: 'weather', version: '1.2.3', title: 'Weather' })
server.registerTool('forecast', { description: 'The weather of tomorrow' }, () => 'sunny')
server.registerPrompt('plan', {}, () => 'Plan my day')
await serveStdio(server)
`

/** A server with a dependency, one that is only for development, and files that do not belong into a bundle. */
export function createProject(overrides: object = {}): Workspace {
  const workspace = new Workspace()
  for (const folder of ['dist', 'src', 'test', 'node_modules/only-for-tests'])
    mkdirSync(workspace.file(folder), { recursive: true })
  symlinkSync(sdk, workspace.file('node_modules/tenon'))
  workspace.write('package.json', { ...manifest, ...overrides })
  workspace.write('dist/main.js', program)
  workspace.write('dist/main.js.map', '{}')
  workspace.write('src/main.ts', program)
  workspace.write('test/main.test.js', '')
  workspace.write('README.md', '# Weather')
  workspace.write('node_modules/only-for-tests/package.json', { name: 'only-for-tests' })
  workspace.write('node_modules/only-for-tests/index.js', '')
  return workspace
}

/** Runs `tenon pack --json`. */
export async function pack(workspace: Workspace, ...args: string[]) {
  const { code, stdout } = await workspace.run(['pack', ...args, '--json'])
  return { code, result: JSON.parse(stdout) }
}
