import { Project, ts } from 'ts-morph'
import { rewriteContexts } from './contexts.ts'
import { declareModules, sourceOf } from './declarations.ts'
import { FileRewrite } from './file-rewrite.ts'
import type { Finding } from './finding.ts'
import { Handlers } from './handlers.ts'
import { rewriteImports } from './imports.ts'
import { collectNames, findOldImports } from './old-imports.ts'
import { rewriteClientCalls } from './rules/client.ts'
import { rewriteFactories } from './rules/factories.ts'
import { rewriteFastMcp } from './rules/fastmcp.ts'
import { keepHandshake } from './rules/handshake.ts'
import { rewriteHttp } from './rules/http.ts'
import { rewriteRegistrations } from './rules/registrations.ts'
import { rewriteRequestHandlers } from './rules/request-handlers.ts'
import { rewriteServerCalls } from './rules/server-calls.ts'
import { rewriteStdio } from './rules/stdio.ts'
import { rewriteTypes } from './rules/types.ts'
import { writeServerOptions } from './server-options.ts'

/** What the migration of some files came to. */
export interface MigratedFiles {
  /** The new text of the files that changed, by path. */
  readonly changed: ReadonlyMap<string, string>
  readonly findings: readonly Finding[]
  /** The old packages that files still import. */
  readonly remaining: ReadonlySet<string>
}

/**
 * Rewrites files from the official packages or FastMCP to Tenon.
 * @param files The text of all files of a program by path, also of those that import no old package.
 */
export function migrateFiles(files: ReadonlyMap<string, string>): MigratedFiles {
  const project = createProject()
  const paths = new Map<string, string>()
  const names = new Map<string, Set<string>>()
  for (const [path, text] of files) {
    const file = project.createSourceFile(`/${path}`, text)
    paths.set(file.getFilePath(), path)
    collectNames(file, names)
  }
  project.createSourceFile('/tenon-migrate.d.ts', declareModules(names))
  const rewrites = new Map<string, FileRewrite>()
  for (const [filePath, path] of paths)
    rewrites.set(filePath, new FileRewrite(project.getSourceFileOrThrow(filePath), path))
  rewriteAll(rewrites)
  return collect(rewrites, files)
}

/** Nothing is read from the disk, so that the result depends only on the files. */
function createProject(): Project {
  return new Project({
    useInMemoryFileSystem: true,
    skipLoadingLibFiles: false,
    compilerOptions: {
      allowJs: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      strict: true,
      lib: ['lib.es2022.d.ts'],
    },
  })
}

/** The order matters: handlers have to be known before anything that depends on their context. */
function rewriteAll(rewrites: ReadonlyMap<string, FileRewrite>): void {
  const handlers = new Handlers()
  const imports = new Map([...rewrites.values()].map((rewrite) => [rewrite, findOldImports(rewrite.file)]))
  for (const [rewrite, old] of imports)
    rewrite.oldNames = new Set(old.flatMap(({ names }) => names.map(({ local }) => local.getText())))
  for (const rewrite of rewrites.values()) {
    rewriteRegistrations(rewrite, handlers)
    rewriteRequestHandlers(rewrite, handlers)
    rewriteFastMcp(rewrite, rewrites, handlers)
  }
  rewriteContexts(rewrites, handlers)
  for (const [rewrite, old] of imports) {
    rewriteServerCalls(rewrite, handlers)
    rewriteStdio(rewrite)
    rewriteFactories(rewrite, old)
    rewriteHttp(rewrite)
    rewriteClientCalls(rewrite)
    rewriteTypes(rewrite, old, handlers)
  }
  keepHandshake(imports)
  for (const rewrite of rewrites.values()) writeServerOptions(rewrite)
  handlers.finish()
  for (const [rewrite, old] of imports) rewriteImports(rewrite, old)
}

function collect(rewrites: ReadonlyMap<string, FileRewrite>, files: ReadonlyMap<string, string>): MigratedFiles {
  const changed = new Map<string, string>()
  const remaining = new Set<string>()
  const findings: Finding[] = []
  for (const { path, text, findings: own } of rewrites.values()) {
    const after = text.toString()
    if (after !== files.get(path)) changed.set(path, after)
    findings.push(...[...own].sort((a, b) => a.line - b.line))
    for (const [, module = ''] of after.matchAll(moduleNames)) {
      if (sourceOf(module)) remaining.add(packageOf(module))
    }
  }
  return { changed, findings, remaining }
}

const moduleNames = /(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"]([^'"\n]+)['"]/g

function packageOf(module: string): string {
  return module.startsWith('@') ? module.split('/').slice(0, 2).join('/') : module.split('/')[0]!
}
