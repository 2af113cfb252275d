// Builds only what the demo needs: the library, the command line with the inspector, and the demo itself, all at once and without
// checking types. `npm run build` builds everything, with types.
import { spawn } from 'node:child_process'

const root = new URL('..', import.meta.url).pathname
const compile = (project) => run('tsc', '-p', project, '--noCheck', '--declaration', 'false')

await Promise.all([
  run(process.execPath, 'scripts/bundle.js', '--sources'),
  compile('packages/cli'),
  run('vite', 'build', 'packages/cli/ui', '--config', 'packages/cli/ui/vite.config.ts'),
  compile('examples'),
])

/** Runs a program, which npm has put on the path. Its output goes to stderr, because stdout belongs to a demo on stdio. */
function run(program, ...args) {
  const child = spawn(program, args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${program} ${args.join(' ')} failed`))))
  })
}
