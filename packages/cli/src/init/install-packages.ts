import { spawn } from 'node:child_process'
import { CliError, exitCodes } from '../exit-codes.ts'

/** The package manager that started this program, such as `pnpm` for `pnpm create tenon`. */
export function packageManager(env: NodeJS.ProcessEnv = process.env): string {
  const [, name = 'npm'] = /^(npm|pnpm|yarn|bun)\//.exec(env.npm_config_user_agent ?? '') ?? []
  return name
}

/** Installs the dependencies of a project. What the package manager prints goes to stderr. */
export async function installPackages(folder: string, manager: string): Promise<void> {
  const quiet = manager === 'npm' ? ['--no-audit', '--no-fund', '--loglevel=error'] : []
  const child = spawn(manager, ['install', ...quiet], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    // On Windows package managers are scripts, which only a shell can start. The arguments are constants.
    shell: process.platform === 'win32',
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  }).catch((error: Error) => error.message)
  if (code === 0) return
  throw new CliError('install-failed', `"${manager} install" failed: ${code}`, {
    hint: `The files are in ${folder}. Run "${manager} install" there to try again.`,
    exitCode: exitCodes.error,
  })
}
