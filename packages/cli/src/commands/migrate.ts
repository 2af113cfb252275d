import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { safeLine, safeText } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { CliError } from '../exit-codes.ts'
import type { Finding } from '../migrate/finding.ts'
import type { ProjectFiles } from '../migrate/project-files.ts'
import { addColorOption, addJsonOption, type OutputFlags } from '../options.ts'
import { createOutput, type Output } from '../output.ts'

interface MigrateFlags extends OutputFlags {
  dryRun?: boolean
  force?: boolean
  comments?: boolean
}

/** Registers `tenon migrate`: rewrites programs for the official SDK or FastMCP. */
export function registerMigrate(program: Command): void {
  const command = program
    .command('migrate')
    .description('rewrite a program for the official SDK or FastMCP to Tenon')
    .addHelpText('before', 'Example: tenon migrate --dry-run\n')
    .argument('[path]', 'the folder of the program, or one file', '.')
    .option('--dry-run', 'print the changes as a diff, and write nothing')
    .option('--comments', 'mark what you have to look at with comments in the code')
    .option('--force', 'write even if there are uncommitted changes')
  addJsonOption(command)
  addColorOption(command)
  command.action((path: string, flags: MigrateFlags) => migrate(path, flags, program.version() ?? ''))
}

/** The output of `tenon migrate --json`, documented in docs/migrate.md. */
interface Migrated {
  readonly files: readonly string[]
  readonly findings: readonly Finding[]
  readonly remaining: readonly string[]
  readonly written: boolean
}

async function migrate(path: string, flags: MigrateFlags, version: string): Promise<void> {
  const output = createOutput(flags)
  // The compiler is large, so only this command loads it.
  const { readProject, uncommittedFiles } = await import('../migrate/project-files.ts')
  const { migrateFiles } = await import('../migrate/migrate-files.ts')
  const project = readProject(resolve(path))
  if (!flags.dryRun && !flags.force) requireCleanTree(uncommittedFiles(project.root))
  const { commonJsFindings } = await import('../migrate/common-js.ts')
  const { changed, findings: inSources, remaining } = migrateFiles(project.sources)
  const findings = [...(changed.size > 0 ? commonJsFindings(project) : []), ...inSources]
  const after = new Map(changed)
  if (flags.comments) await addComments(after, project, findings)
  await changePackages(after, project, remaining, version)
  if (flags.dryRun && !output.isJson) await printDiff(after, project, output)
  if (!flags.dryRun) for (const [name, text] of after) writeFileSync(join(project.root, name), text)
  const written = !flags.dryRun && after.size > 0
  report({ files: [...after.keys()], findings, remaining: [...remaining], written }, output)
}

function requireCleanTree(uncommitted: readonly string[]): void {
  if (uncommitted.length === 0) return
  throw new CliError('uncommitted-changes', `There are uncommitted changes, for example: ${uncommitted[0]!.slice(3)}`, {
    hint: 'Commit them first, so that you can review and undo the migration, or pass --force.',
  })
}

async function addComments(
  after: Map<string, string>,
  { sources }: ProjectFiles,
  findings: readonly Finding[],
): Promise<void> {
  const { markFindings } = await import('../migrate/comments.ts')
  for (const [name, before] of sources) {
    const own = findings.filter(({ file }) => file === name)
    if (own.length > 0) after.set(name, markFindings(after.get(name) ?? before, before, own))
  }
}

async function changePackages(
  after: Map<string, string>,
  { packages }: ProjectFiles,
  remaining: ReadonlySet<string>,
  version: string,
): Promise<void> {
  const { migratePackageJson } = await import('../migrate/package-json.ts')
  for (const [name, text] of packages) {
    const changed = migratePackageJson(text, remaining, version)
    if (changed !== undefined) after.set(name, changed)
  }
}

async function printDiff(after: ReadonlyMap<string, string>, project: ProjectFiles, output: Output): Promise<void> {
  const { diffTexts } = await import('../migrate/text-diff.ts')
  for (const [name, text] of after) {
    const before = project.sources.get(name) ?? project.packages.get(name) ?? ''
    output.print(output.paint.strong(`--- a/${name}`), output.paint.strong(`+++ b/${name}`))
    for (const line of diffTexts(before, text)) output.print(safeText(line, 10_000))
  }
}

function report(done: Migrated, output: Output): void {
  if (output.isJson) return output.printJson(done)
  const { files, findings, remaining, written } = done
  const verb = written ? 'Changed' : 'Would change'
  if (files.length === 0) output.note('Nothing to migrate: no file imports the official SDK or FastMCP.')
  else output.note(`${verb} ${files.length} ${files.length === 1 ? 'file' : 'files'}.`)
  if (findings.length > 0) {
    output.print('', output.paint.strong(`What a person must look at (${findings.length}):`))
    for (const finding of findings) output.print('', ...viewFinding(finding, output))
  }
  for (const name of remaining)
    output.note(...wrap(`Files still import ${name}, so package.json keeps it.`, output.width))
  if (written) output.note('Run your package manager to install tenon.')
}

function viewFinding({ file, line, found, reason, action }: Finding, { width, paint }: Output): string[] {
  const text = wrap(safeLine(`${reason} ${action}`), width - 2).map((part) => `  ${part}`)
  return [paint.strong(safeLine(`${file}:${line}`)), `  ${paint.faint(safeLine(found).slice(0, width - 2))}`, ...text]
}
