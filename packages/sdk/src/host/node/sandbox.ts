import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { safeVariables } from '../../util/safe-variables.ts'

/** Returns the environment that every server process gets: what a program needs to run, and nothing that may be a secret. */
export function minimalEnvironment(): Record<string, string> {
  return safeVariables(process.env, process.platform)
}

/**
 * Returns the environment for the command line program of a container runtime: the minimal one, and where its service and its
 * settings are.
 */
export function runtimeEnvironment(): Record<string, string> {
  const environment = minimalEnvironment()
  for (const name of runtimeVariables) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  return environment
}

const runtimeVariables = [
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'DOCKER_CERT_PATH',
  'DOCKER_TLS_VERIFY',
  'CONTAINER_HOST',
  'CONTAINERS_CONF',
  'XDG_RUNTIME_DIR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
]

/** A program that was found. */
export interface FoundProgram {
  /** The absolute path, as in PATH. */
  readonly path: string
  /** The file that the path leads to, after all symbolic links. */
  readonly realPath: string
}

/**
 * Looks a program up in PATH, or by its path. Relative entries of PATH are skipped, because they would find programs in whatever
 * folder is current.
 *
 * @param from Where the search starts: `path` is PATH, and `cwd` is the folder of relative names such as `./server`.
 */
export async function findProgram(
  name: string,
  from: { path?: string | undefined; cwd?: string | undefined } = {},
): Promise<FoundProgram | undefined> {
  for (const candidate of candidates(name, from.path ?? process.env.PATH ?? '', from.cwd)) {
    if (await isProgram(candidate)) return { path: candidate, realPath: await realpath(candidate) }
  }
  return undefined
}

function candidates(name: string, path: string, cwd: string | undefined): string[] {
  const isPath = name.includes('/') || (process.platform === 'win32' && name.includes('\\'))
  const places = isPath
    ? [resolve(cwd ?? '.', name)]
    : path
        .split(delimiter)
        .filter((folder) => isAbsolute(folder))
        .map((folder) => join(folder, name))
  return places.flatMap((place) => extensions().map((extension) => place + extension))
}

/** On Windows, a program is found by its name without the extension. */
function extensions(): string[] {
  if (process.platform !== 'win32') return ['']
  return ['', ...(process.env.PATHEXT ?? '.EXE;.CMD').split(';')]
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

/** The user and group of this process; undefined on Windows, and for the administrator, whom nothing should run as. */
export function currentUser(): string | undefined {
  const [user, group] = [process.getuid?.(), process.getgid?.()]
  return user === undefined || user === 0 ? undefined : `${user}:${group}`
}
