import { spawn } from 'node:child_process'

/** The package manager that started this program, such as `pnpm` for `pnpm create tenon`. */
export function packageManager(env: NodeJS.ProcessEnv = process.env): string {
  const [, name = 'npm'] = /^(npm|pnpm|yarn|bun)\//.exec(env.npm_config_user_agent ?? '') ?? []
  return name
}

/**
 * Runs a package manager in a folder. What it prints goes to stderr. Returns its exit code, or why it could not be started.
 * @param args Constants only: on Windows a shell reads them.
 */
export async function runPackageManager(folder: string, manager: string, args: readonly string[]) {
  const child = spawn(manager, args, {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    // On Windows package managers are scripts, which only a shell can start.
    shell: process.platform === 'win32',
  })
  return new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  }).catch((error: Error) => error.message)
}
