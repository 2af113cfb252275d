import { isObject } from '../../util/objects.ts'
import { parseEnvFile } from './env-file.ts'
import type { EntryContext, Members } from './members.ts'
import type { ServerProblems } from './problems.ts'
import { readSandbox } from './sandbox-member.ts'
import type { CommandServerConfig } from './server-config.ts'
import type { VariableSource } from './variables.ts'

/** Validates the members of a server that is started as a process. */
export function readProcess(members: Members, context: EntryContext): CommandServerConfig {
  checkType(members, context.problems)
  const { command, args, env } = readCommand(members, context.problems)
  const environment = { ...readEnvFile(members, context), ...env, ...readEnv(members) }
  return {
    command,
    args: args.length > 0 ? args : undefined,
    env: Object.keys(environment).length > 0 ? environment : undefined,
    cwd: readCwd(members, context),
    sandbox: readSandbox(members, context.problems),
  }
}

function checkType(members: Members, problems: ServerProblems): void {
  for (const name of ['type', 'transport', 'transportType']) {
    const value = members.raw(name)
    if (value === undefined || value === 'stdio' || value === 'local') continue
    problems.fail(name, `must be "stdio" for a server with a command, not ${JSON.stringify(value)}.`)
  }
  members.warnUnused(['headers', 'allowInsecure', 'auth'], 'because the server has no URL')
}

interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>> | undefined
}

/** The program is a text, with opencode the beginning of an array, and with older versions of Zed an object. */
function readCommand(members: Members, problems: ServerProblems): Command {
  const raw = members.raw('command')
  const args = members.strings('args') ?? []
  if (Array.isArray(raw)) {
    const [command = '', ...rest] = members.texts(raw, 'command')
    return checkedCommand({ command, args: [...rest, ...args] }, problems)
  }
  if (isObject(raw)) return readNested(raw, members, problems)
  const command = members.string('command')
  return command === undefined ? { command: '', args } : checkedCommand({ command, args }, problems)
}

function readNested(raw: Record<string, unknown>, members: Members, problems: ServerProblems): Command {
  const [command = ''] = members.texts([raw.path], 'command.path')
  const args = members.texts(raw.args ?? [], 'command.args')
  const env = members.textMap(raw.env ?? {}, 'command.env', checkVariableName)
  return checkedCommand({ command, args, env }, problems)
}

function checkedCommand(command: Command, problems: ServerProblems): Command {
  if (command.command.trim() === '') problems.fail('command', 'must not be empty.')
  if (command.args.length === 0 && /^[^\\/\s]+\s+\S/.test(command.command))
    problems.warn('command', 'contains spaces, but it is only the program. Put the arguments into "args".')
  if (/^~[\\/]/.test(command.command))
    problems.fail('command', `starts with "~", which only a shell replaces. Write "\${userHome}" instead.`)
  return command
}

function readEnv(members: Members): Record<string, string> {
  return { ...members.map('environment', checkVariableName), ...members.map('env', checkVariableName) }
}

function checkVariableName(name: string): string | undefined {
  return /^[^=\0]+$/.test(name) ? undefined : 'is not a valid name of an environment variable.'
}

function readEnvFile(members: Members, { problems, readText, variables }: EntryContext): Record<string, string> {
  const path = members.string('envFile')
  if (path === undefined) return {}
  if (!readText) {
    problems.fail('envFile', 'cannot be read here. Use readConfigFile(), or put the variables into "env".')
    return {}
  }
  try {
    return parseEnvFile(readText(absolute(path, variables)))
  } catch (error) {
    problems.fail('envFile', `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    return {}
  }
}

function readCwd(members: Members, { variables }: EntryContext): string | undefined {
  const cwd = members.string('cwd')
  return cwd === undefined || cwd === '' ? undefined : absolute(cwd, variables)
}

/** Relative paths start at the folder of the workspace, and `~` is the home directory. */
function absolute(path: string, { cwd, home }: VariableSource): string {
  if (home !== undefined && (path === '~' || /^~[\\/]/.test(path))) return home + path.slice(1)
  if (/^(?:[\\/]|[A-Za-z]:[\\/])/.test(path)) return path
  const relative = path.replace(/^(?:\.[\\/])+/, '')
  return relative === '.' ? cwd : `${cwd.replace(/[\\/]$/, '')}/${relative}`
}
