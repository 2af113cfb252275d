import { basename, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { usageError } from '../exit-codes.ts'
import { askFolder, askTransport } from '../init/ask.ts'
import { checkEmpty, isEmptyFolder, writeProject } from '../init/create-project.ts'
import { findAuthor } from '../init/find-author.ts'
import { installPackages } from '../init/install-packages.ts'
import { type ProjectTransport, projectFiles, toPackageName } from '../init/project-files.ts'
import { addColorOption, addJsonOption, type OutputFlags } from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { packageManager } from '../run-package-manager.ts'

interface InitFlags extends OutputFlags {
  stdio?: boolean
  http?: boolean
  name?: string
  tenon?: string
  cli?: string
  install: boolean
  yes?: boolean
}

/** Registers `tenon init`: creates a new project. */
export function registerInit(program: Command): void {
  const command = program
    .command('init')
    .description('create a new server project')
    .addHelpText('before', 'Example: tenon init my-server --stdio\n')
    .argument('[folder]', 'the folder to create')
    .option('--stdio', 'a server that hosts start')
    .option('--http', 'a server with a URL')
    .option('--name <name>', 'the name of the package. Default: that of the folder')
    .option('--tenon <spec>', 'the version of tenon to use: a range, or a file')
    .option('--cli <spec>', 'the version of @tenon/cli to use')
    .option('--no-install', 'do not install the dependencies')
    .option('-y, --yes', 'use defaults instead of asking')
  addJsonOption(command)
  addColorOption(command)
  command.action((folder: string | undefined, flags: InitFlags) => init(folder, flags, `^${program.version()}`))
}

/** The output of `tenon init --json`, documented in docs/cli.md. */
interface Created {
  readonly folder: string
  readonly name: string
  readonly transport: ProjectTransport
  readonly files: readonly string[]
  readonly installed: boolean
}

async function init(folder: string | undefined, flags: InitFlags, range: string): Promise<void> {
  const output = createOutput(flags)
  const { path, transport } = await choose(folder, flags)
  const name = flags.name ?? toPackageName(basename(path))
  if (name !== toPackageName(name)) throw usageError(`Not a valid name: ${name}`, `For example: ${toPackageName(name)}`)
  const files = projectFiles({
    name,
    transport,
    tenon: flags.tenon ?? range,
    cli: flags.cli ?? range,
    author: findAuthor(),
  })
  await writeProject(path, files)
  const manager = packageManager()
  if (flags.install) {
    output.note(`Installing the dependencies with ${manager} ...`)
    await installPackages(path, manager)
  }
  report({ folder: path, name, transport, files: [...files.keys()], installed: flags.install }, manager, output)
}

async function choose(
  folder: string | undefined,
  flags: InitFlags,
): Promise<{ path: string; transport: ProjectTransport }> {
  if (flags.stdio && flags.http) throw usageError('Pass either --stdio or --http.')
  const isAsking = !flags.yes && !flags.json && process.stdin.isTTY && process.stderr.isTTY
  const suggestion = isEmptyFolder('.') ? '.' : 'my-mcp-server'
  const path = resolve(folder ?? (isAsking ? await askFolder(suggestion) : suggestion))
  // Checked before the next question.
  checkEmpty(path)
  if (flags.stdio || flags.http) return { path, transport: flags.http ? 'http' : 'stdio' }
  return { path, transport: isAsking ? await askTransport() : 'stdio' }
}

function report(created: Created, manager: string, output: Output): void {
  if (output.isJson) return output.printJson(created)
  const { folder, name, transport, installed } = created
  const place = relative('.', folder)
  output.print(`Created ${name}${place === '' || place === name ? '' : ` in ${place}`}.`)
  output.note('', 'Next:', ...nextSteps(transport, place, installed ? undefined : manager).map((step) => `  ${step}`))
}

function nextSteps(transport: ProjectTransport, place: string, manager: string | undefined): string[] {
  const call =
    transport === 'stdio'
      ? ['npx tenon call src/main.ts greet name=Ada']
      : ['npm start', 'npx tenon call http://127.0.0.1:3000/mcp greet name=Ada']
  return [
    ...(place === '' ? [] : [`cd ${place}`]),
    ...(manager === undefined ? [] : [`${manager} install`]),
    ...call,
    'npm test',
  ]
}
