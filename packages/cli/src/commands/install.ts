import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { safeText } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { usageError } from '../exit-codes.ts'
import { editEntry, isSameJson, readEntry } from '../install/edit-config.ts'
import { type Entry, filesOf, findHost, hosts, type KnownHost, type Scope } from '../install/hosts.ts'
import { diffLines } from '../install/line-diff.ts'
import { toEntry } from '../install/server-entry.ts'
import { readConfigText, writeConfigText } from '../install/write-config.ts'
import { addColorOption, addJsonOption, type ConfigFlags, type OutputFlags, parseHeader } from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { resolveTarget, type TargetWords } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

interface InstallFlags extends OutputFlags, ConfigFlags {
  host?: string
  name?: string
  scope?: Scope
  env?: Readonly<Record<string, string>>
  header?: Readonly<Record<string, string>>
  remove?: boolean
  replace?: boolean
  dryRun?: boolean
  yes?: boolean
}

/** Registers `tenon install`: writes a server into the config file of a host. */
export function registerInstall(program: Command): void {
  const command = program
    .command('install')
    .description('add a server to the config file of a host')
    .addHelpText('before', 'Example: tenon install ./server.js --host claude-desktop\n')
    .addHelpText('after', `\nHosts: ${hosts.map(({ id }) => id).join(', ')}`)
  addTargetArgument(command, 'target', 'a URL, a command, a file, or the name of a server in a config file')
  command
    .option('--host <host>', 'the host to install it in')
    .option('--name <name>', 'the name of the server in the host')
    .addOption(new Option('--scope <scope>', 'for all projects, or for this folder').choices(['user', 'project']))
    .option('--env <name=value>', 'an environment variable (repeatable)', parseVariable)
    .option('--header <header>', "a header for a URL: 'Name: value' (repeatable)", parseHeader)
    .option('--config <file>', 'the config file that has the target')
    .option('--replace', 'replace a different server with the same name')
    .option('--remove', 'remove the server with this name')
    .option('--dry-run', 'show the change without writing it')
    .option('-y, --yes', 'write without asking')
  addJsonOption(command)
  addColorOption(command)
  command.action((words: string[], flags: InstallFlags) => install(wordsOf(words, program), flags, program))
}

/** The output of `tenon install --json`, documented in docs/cli.md. */
interface Installed {
  readonly host: string
  readonly scope: Scope
  readonly path: string
  readonly name: string
  readonly action: 'added' | 'replaced' | 'removed' | 'unchanged'
  readonly entry: unknown
  readonly written: boolean
  readonly backup: string | null
}

async function install(words: TargetWords, flags: InstallFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  if (flags.host === undefined) {
    throw usageError('No host was given.', `Pass --host with one of: ${hosts.map(({ id }) => id).join(', ')}.`)
  }
  const host = findHost(flags.host)
  const file = fileOf(host, flags.scope)
  const { name, entry } = wanted(host, words, flags, program.version() ?? '')
  const config = readConfigText(file.path)
  const before = readEntry(config, host.container, name)
  const action = actionFor(before, entry, flags, { host, name, path: file.path })
  const text = action === 'unchanged' ? config.text : editEntry(config, host.container, name, entry)
  if (action !== 'unchanged') showChange(file.path, diffLines(config.text, text), output)
  const isWriting = action !== 'unchanged' && !flags.dryRun && (flags.yes || (await isConfirmed(action)))
  const backup = isWriting ? await writeConfigText(config, text) : undefined
  report(
    {
      host: host.id,
      ...file,
      name,
      action,
      entry: entry ?? before ?? null,
      written: isWriting,
      backup: backup ?? null,
    },
    host,
    output,
  )
}

function wanted(
  host: KnownHost,
  words: TargetWords,
  flags: InstallFlags,
  version: string,
): { name: string; entry: Entry | undefined } {
  if (flags.remove) {
    const name = flags.name ?? words.words[0]
    if (name === undefined) throw usageError('No name was given.', 'tenon install <name> --host <host> --remove')
    return { name, entry: undefined }
  }
  const { id, config } = resolveTarget(words, flags)
  const name = flags.name ?? id
  if (!/^[\w.-]{1,64}$/.test(name) || name === '__proto__')
    throw usageError(`Not a valid name: ${name}`, 'Use 1 to 64 letters, digits, "-", "_" or ".".')
  return { name, entry: toEntry(host, config, { env: flags.env ?? {}, version }) }
}

/** An existing file is preferred where a host has several names for it. */
function fileOf(host: KnownHost, scope: Scope | undefined): { path: string; scope: Scope } {
  const files = filesOf(host)
  const wantedScope = scope ?? (files.some((file) => file.scope === 'user') ? 'user' : 'project')
  const inScope = files.filter((file) => file.scope === wantedScope)
  const found = inScope.find(({ path }) => existsSync(path)) ?? inScope[0]
  if (found) return { path: found.path, scope: found.scope }
  throw usageError(`${host.name} has no config file with the scope "${wantedScope}".`)
}

function actionFor(
  before: unknown,
  entry: Entry | undefined,
  { replace, remove }: InstallFlags,
  place: { host: KnownHost; name: string; path: string },
): Installed['action'] {
  if (remove) return before === undefined ? 'unchanged' : 'removed'
  if (before === undefined) return 'added'
  if (isSameJson(before, entry)) return 'unchanged'
  if (replace) return 'replaced'
  throw usageError(
    `${place.host.name} already has a different server "${place.name}" in ${place.path}.`,
    'Pass --replace to overwrite it, or --name to choose another name.',
  )
}

function showChange(path: string, lines: ReturnType<typeof diffLines>, output: Output): void {
  const { notePaint } = output
  output.note(notePaint.strong(path))
  for (const { sign, text } of lines) {
    const shown = `${sign} ${safeText(text, 2_000)}`.trimEnd()
    output.note(sign === ' ' ? notePaint.faint(shown) : sign === '-' ? notePaint.warning(shown) : shown)
  }
}

async function isConfirmed(action: Installed['action']): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw usageError('Nothing was written: there is no terminal to ask on.', 'Pass --yes to write without a question.')
  // Loaded only if there is a person to ask.
  const { confirm } = await import('@clack/prompts')
  const message = action === 'removed' ? 'Remove it?' : 'Write this?'
  return (await confirm({ message, output: process.stderr, withGuide: false })) === true
}

const words = { added: 'Added', replaced: 'Replaced', removed: 'Removed', unchanged: 'Unchanged' } as const

function report(done: Installed, host: KnownHost, output: Output): void {
  if (output.isJson) return output.printJson(done)
  const { name, action, written, backup } = done
  if (action === 'unchanged') {
    const state = done.entry === null ? 'is not installed' : 'is already installed'
    return output.print(`"${name}" ${state} in ${host.name}.`)
  }
  if (!written) return output.print('Nothing was written.')
  output.print(`${words[action]} "${name}" ${action === 'removed' ? 'from' : 'in'} ${host.name}.`)
  if (backup !== null) output.note(...wrap(`Backup: ${backup}`, output.width))
  if (action !== 'removed') output.note(host.next)
}

function parseVariable(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Pass a name and a value: --env API_KEY=value.')
  return Object.fromEntries([...Object.entries(before), [text.slice(0, at), text.slice(at + 1)]])
}
