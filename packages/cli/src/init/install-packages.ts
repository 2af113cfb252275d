import { CliError, exitCodes } from '../exit-codes.ts'
import { runPackageManager } from '../run-package-manager.ts'

/** Installs the dependencies of a project. What the package manager prints goes to stderr. */
export async function installPackages(folder: string, manager: string): Promise<void> {
  const quiet = manager === 'npm' ? ['--no-audit', '--no-fund', '--loglevel=error'] : []
  const code = await runPackageManager(folder, manager, ['install', ...quiet])
  if (code === 0) return
  throw new CliError('install-failed', `"${manager} install" failed: ${code}`, {
    hint: `The files are in ${folder}. Run "${manager} install" there to try again.`,
    exitCode: exitCodes.error,
  })
}
