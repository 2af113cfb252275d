import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CliError, exitCodes } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { packageManager, runPackageManager } from '../run-package-manager.ts'
import type { PackageFacts } from './package-facts.ts'

/** Builds a package before it is packed: with its "prepack" script, as npm does, or with "build" if the file to start is missing. */
export async function buildPackage(
  folder: string,
  { scripts }: PackageFacts,
  entry: string | undefined,
  output: Output,
): Promise<void> {
  const isMissing = entry !== undefined && !existsSync(join(folder, entry))
  const script = scripts.includes('prepack') ? 'prepack' : isMissing && scripts.includes('build') ? 'build' : undefined
  if (script === undefined) return
  const manager = packageManager()
  output.note(`Running "${manager} run ${script}" ...`)
  const code = await runPackageManager(folder, manager, ['run', ...(manager === 'npm' ? ['--silent'] : []), script])
  if (code === 0) return
  throw new CliError('build-failed', `"${manager} run ${script}" failed: ${code}`, {
    hint: 'Correct what it printed, and run "tenon pack" again.',
    exitCode: exitCodes.checkFailed,
  })
}
