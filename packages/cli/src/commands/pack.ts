import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { CliError, exitCodes } from '../exit-codes.ts'
import { addColorOption, addJsonOption, type OutputFlags, parseSeconds } from '../options.ts'
import { createOutput, type Output, twoColumns } from '../output.ts'
import { buildPackage } from '../pack/build-package.ts'
import { Staging } from '../pack/bundle.ts'
import { type Members, readJsonFile } from '../pack/json-file.ts'
import { checkManifest, createManifest } from '../pack/manifest.ts'
import { type PackageFacts, readPackage } from '../pack/package-facts.ts'
import { probeServer } from '../pack/probe-server.ts'
import { refuseSecrets } from '../pack/secret-files.ts'
import { type BundleFile, selectFiles } from '../pack/select-files.ts'
import { checkServerJson, createServerJson, registryName } from '../pack/server-json.ts'

interface PackFlags extends OutputFlags {
  entry?: string
  out?: string
  bundle: boolean
  downloadUrl?: string
  remote?: readonly string[]
  timeout?: number
  dryRun?: boolean
}

/** Registers `tenon pack`: makes a bundle and the description for the registry. */
export function registerPack(program: Command): void {
  const command = program
    .command('pack')
    .description('make an .mcpb bundle, and server.json for the MCP registry')
    .addHelpText('before', 'Example: tenon pack\n')
    .argument('[folder]', 'the folder of the server', '.')
    .option('--entry <file>', 'the JavaScript file to start. Default: bin or main')
    .option('--out <folder>', 'where to write. Default: the folder of the server')
    .option('--no-bundle', 'write only server.json')
    .option('--download-url <url>', 'where the bundle will be published')
    .option('--remote <url>', 'a URL of the running server (repeatable)', collect)
    .option('--timeout <seconds>', 'how long the server may take to answer', parseSeconds)
    .option('--dry-run', 'show the files without writing anything')
  addJsonOption(command)
  addColorOption(command)
  command.action((folder: string, flags: PackFlags) => pack(resolve(folder), flags))
}

/** The output of `tenon pack --json`, documented in docs/cli.md. */
interface Packed {
  readonly bundle: BundleResult | null
  readonly serverJson: { readonly path: string; readonly content: Members } | null
  readonly written: boolean
}

interface BundleResult {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly files: readonly string[]
  readonly manifest: Members
}

async function pack(folder: string, flags: PackFlags): Promise<void> {
  const output = createOutput(flags)
  const facts = readPackage(folder)
  const out = resolve(flags.out ?? folder)
  // What package.json decides is checked before anything is built, copied and started.
  makeServerJson(folder, out, facts, flags, undefined)
  if (flags.bundle && !flags.dryRun) await buildPackage(folder, facts, flags.entry ?? facts.entry, output)
  const made = flags.bundle ? await makeBundle(folder, out, facts, flags) : undefined
  const serverJson = makeServerJson(folder, out, facts, flags, made?.result)
  if (!flags.dryRun) {
    mkdirSync(out, { recursive: true })
    if (made) writeFileSync(made.result.path, made.content)
    if (serverJson) writeFileSync(serverJson.path, `${JSON.stringify(serverJson.content, null, 2)}\n`)
  }
  report({ bundle: made?.result ?? null, serverJson: serverJson ?? null, written: !flags.dryRun }, output)
}

async function makeBundle(
  folder: string,
  out: string,
  facts: PackageFacts,
  flags: PackFlags,
): Promise<{ result: BundleResult; content: Uint8Array }> {
  const entry = entryOf(folder, flags.entry ?? facts.entry)
  const options = { facts, entry, base: readJsonFile(join(folder, 'manifest.json')) }
  checkManifest(createManifest({ ...options, offer: noOffer }), folder)
  const files = selectFiles(folder, facts.files)
  checkEntry(entry, files)
  refuseSecrets(files)
  using staging = new Staging(files)
  const offer = await probeServer(staging.folder, entry, flags.timeout ?? 60_000)
  const manifest = createManifest({ ...options, offer })
  checkManifest(manifest, staging.folder)
  staging.write('manifest.json', `${JSON.stringify(manifest, null, 2)}\n`)
  const { bytes, sha256 } = staging.zip()
  const path = join(out, `${manifest.name}-${facts.version}.mcpb`)
  const names = [...files.map((file) => file.path), 'manifest.json'].sort()
  return { result: { path, bytes: bytes.byteLength, sha256, files: names, manifest }, content: bytes }
}

const noOffer = { title: undefined, tools: [], hasPrompts: false }

function entryOf(folder: string, entry: string | undefined): string {
  if (entry === undefined) throw checkFailed('package.json has neither "bin" nor "main".', 'Pass --entry <file>.')
  const path = entry.replace(/^\.\//, '')
  if (/^\.[cm]?tsx?$/.test(extname(path)))
    throw checkFailed(`Hosts cannot start TypeScript: ${path}`, 'Compile it, and pass the JavaScript file.')
  if (existsSync(join(folder, path))) return path
  throw checkFailed(`The file to start does not exist: ${path}`, 'Build the server first, for example "npm run build".')
}

function checkEntry(entry: string, files: readonly BundleFile[]): void {
  if (files.some(({ path }) => path === entry)) return
  throw checkFailed(`The file to start is not packed: ${entry}`, 'Add it to "files" in package.json.')
}

/** Without a name there is nothing to register. */
function makeServerJson(
  folder: string,
  out: string,
  facts: PackageFacts,
  { downloadUrl, remote = [] }: PackFlags,
  bundle: BundleResult | undefined,
): { path: string; content: Members } | undefined {
  const base = readJsonFile(join(folder, 'server.json'))
  if (registryName(facts) === undefined && base === undefined) {
    if (downloadUrl === undefined && remote.length === 0) return undefined
    throw checkFailed(
      'The server has no name for the registry.',
      'Set "mcpName" in package.json: "io.github.me/server".',
    )
  }
  const content = createServerJson({
    facts,
    base,
    remotes: remote,
    title: typeof bundle?.manifest.display_name === 'string' ? bundle.manifest.display_name : undefined,
    ...(bundle && { manifest: bundle.manifest }),
    ...(bundle && downloadUrl !== undefined && { bundle: { url: downloadUrl, sha256: bundle.sha256 } }),
  })
  checkServerJson(content, facts)
  return { path: join(out, 'server.json'), content }
}

function checkFailed(message: string, hint: string): CliError {
  return new CliError('invalid-package', message, { hint, exitCode: exitCodes.checkFailed })
}

function report(packed: Packed, output: Output): void {
  if (output.isJson) return output.printJson(packed)
  const { bundle, serverJson, written } = packed
  if (bundle) output.note(...twoColumns(summaryOf(bundle), { ...output, paint: output.notePaint }))
  if (!serverJson) output.note('No server.json: set "mcpName" or "repository" in package.json to make one.')
  if (!written) return output.print(...(bundle?.files ?? []), 'Nothing was written.')
  if (bundle) output.print(bundle.path)
  if (serverJson) output.print(serverJson.path)
}

function summaryOf({ bytes, sha256, files, manifest }: BundleResult): [string, string][] {
  const dependencies = files.filter((path) => path.startsWith('node_modules/')).length
  const tools = Array.isArray(manifest.tools) ? manifest.tools.length : 0
  return [
    ['Bundle', `${manifest.name} ${manifest.version}, ${(bytes / 1000).toFixed(1)} KB`],
    ['Files', `${files.length - dependencies}, and ${dependencies} of dependencies`],
    ['Tools', String(tools)],
    ['SHA-256', sha256],
  ]
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
