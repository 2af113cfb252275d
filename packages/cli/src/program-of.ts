import { accessSync, constants, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CommandServerConfig } from 'tenon/host'
import { CliError, exitCodes, usageError } from './exit-codes.ts'

/** Returns the command that runs a file: JavaScript and TypeScript with this Node.js, everything else by itself. */
export function programOf(path: string, args: readonly string[]): CommandServerConfig {
  const file = resolve(path)
  if (!existsSync(file)) throw usageError(`File not found: ${path}`)
  const extension = extname(file).toLowerCase()
  if (/^\.[cm]?js$/.test(extension)) return { command: process.execPath, args: [file, ...args] }
  if (/^\.([cm]?ts|tsx|jsx)$/.test(extension))
    return { command: process.execPath, args: [...typeScriptArgs(file, extension), ...args] }
  if (isExecutable(file)) return { command: file, args }
  throw usageError(
    `Cannot run ${path}: it is neither JavaScript, TypeScript nor executable.`,
    'Pass a command instead.',
  )
}

/** Type stripping of Node.js needs no installation, but does not know JSX. */
function typeScriptArgs(file: string, extension: string): string[] {
  const canStrip = !extension.endsWith('x')
  if (canStrip && stripsTypes()) return [file]
  if (canStrip && process.allowedNodeEnvironmentFlags.has('--experimental-strip-types'))
    return ['--experimental-strip-types', '--disable-warning=ExperimentalWarning', file]
  const tsx = findTsx(file)
  if (tsx !== undefined) return ['--import', tsx, file]
  throw new CliError(
    'no-typescript',
    `Cannot run ${file}: Node.js ${process.versions.node} cannot run this kind of file.`,
    {
      hint: 'Run "npm install --save-dev tsx" in its folder, or use Node.js 22.18 or newer for .ts files.',
      exitCode: exitCodes.connection,
    },
  )
}

/** True since Node.js 22.18 and 23.6. The types of Node.js 20 do not know the member. */
function stripsTypes(): boolean {
  return Boolean(Reflect.get(process.features, 'typescript'))
}

/** The loader of `tsx`, if it is installed where the file can use it. */
function findTsx(file: string): string | undefined {
  try {
    return pathToFileURL(createRequire(file).resolve('tsx')).href
  } catch {
    return undefined
  }
}

function isExecutable(file: string): boolean {
  if (process.platform === 'win32') return /\.(exe|cmd|bat|com)$/i.test(file)
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
