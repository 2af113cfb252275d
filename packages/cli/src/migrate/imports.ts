import { type Identifier, Node } from 'ts-morph'
import { sourceOf } from './declarations.ts'
import type { FileRewrite } from './file-rewrite.ts'
import { findNewName } from './names.ts'
import type { OldImport, OldName } from './old-imports.ts'

/** Replaces the imports of a file, after all other rewrites. Names without a counterpart stay imported, and are reported. */
export function rewriteImports(rewrite: FileRewrite, imports: readonly OldImport[]): void {
  const kept = new Map<OldImport, OldName[]>()
  for (const old of imports) {
    if (old.isSimple)
      kept.set(
        old,
        old.names.filter((name) => !resolveName(rewrite, name)),
      )
    else reportImport(rewrite, old)
  }
  for (const declaration of rewrite.file.getExportDeclarations()) {
    const module = declaration.getModuleSpecifierValue()
    if (module !== undefined && sourceOf(module)) rewriteExport(rewrite, module, declaration)
  }
  const simple = imports.filter(({ isSimple }) => isSimple)
  const first = simple.find(({ kind }) => kind === 'import') ?? simple[0]
  const lines = newImportLines(
    rewrite,
    simple.length > 0 && simple.every(({ kind }) => kind !== 'import') ? first!.kind : 'import',
  )
  for (const old of simple) {
    const own = keptLine(rewrite, old, kept.get(old) ?? [])
    const text = [...(old === first ? lines : []), ...(own === undefined ? [] : [own])]
    if (text.length === 0) removeImport(rewrite, old)
    else
      rewrite.text.overwrite(
        old.statement.getStart(),
        old.statement.getEnd(),
        text.join(`\n${rewrite.lineIndent(old.statement)}`),
      )
  }
  if (!first && lines.length > 0) rewrite.text.prepend(`${lines.join('\n')}\n`)
}

/** Finds a new place for a name, and renames its uses. False if the old import has to stay. */
function resolveName(rewrite: FileRewrite, old: OldName): boolean {
  const rest = old.uses.filter((use) => !rewrite.consumed.has(use))
  const copied = old.uses.filter((use) => rewrite.copied.has(use))
  if (rest.length + copied.length === 0) return true
  const found = findNewName(old.module, old.name)
  if (!found) {
    reportName(rewrite, old, (rest[0] ?? copied[0])!)
    return false
  }
  const isType = old.isType || found.isType === true || [...rest, ...copied].every(isTypeUse)
  const local = old.local.getText()
  // Copied text cannot be renamed, so the name stays.
  const isAliased = local !== old.name || copied.length > 0
  const chosen = rewrite.need({ ...found, isType }, isAliased || local === found.name ? local : undefined)
  if (chosen !== local) for (const use of rest) rewrite.rename(use, chosen)
  return true
}

function isTypeUse(use: Identifier): boolean {
  const parent = use.getParent()
  return Node.isTypeReference(parent) || Node.isTypeQuery(parent)
}

const importHints: Readonly<Record<string, string>> = {
  requireBearerAuth: 'It still checks every request. Or pass auth to createMcpHandler: docs/auth-servers.md.',
  createMcpExpressApp: 'Use createMcpHandler(server) in your own Express app: docs/http.md.',
  createMcpHonoApp: 'Use createMcpHandler(server) in your own Hono app: docs/http.md.',
  toNodeHandler: 'createMcpHandler(server) of Tenon is a handler for node:http and Express itself: docs/http.md.',
  fromJsonSchema: 'Pass the JSON Schema itself: Tenon takes it wherever it takes a schema.',
  getDefaultEnvironment: 'Tenon passes the safe part of the environment to a program by itself.',
  imageContent: 'Return { type: "image", data, mimeType } with the bytes as Base64.',
  audioContent: 'Return { type: "audio", data, mimeType } with the bytes as Base64.',
  UnauthorizedError: 'Use AuthError of tenon/auth/client.',
  StreamableHTTPError: 'Use HttpError of tenon/client.',
  auth: 'Use oauth() or withProvider() of tenon/auth/client.',
  LATEST_PROTOCOL_VERSION: 'Use revisionIds of tenon.',
  SUPPORTED_PROTOCOL_VERSIONS: 'Use revisionIds of tenon.',
  Protocol: 'Use Server or Client.',
}

function reportName(rewrite: FileRewrite, { module, name }: OldName, use: Identifier): void {
  const hint = Object.hasOwn(importHints, name) ? importHints[name] : undefined
  const isSchema = name.endsWith('Schema') && name !== 'fromJsonSchema'
  rewrite.report(
    use,
    name,
    isSchema ? 'Tenon has no schema objects for the messages of the protocol.' : `Tenon has no "${name}" of ${module}.`,
    hint ??
      (isSchema
        ? 'The import stays. Replace it with a schema of your own, or with the type of the same name.'
        : 'The import stays, so the old package does too. Replace it by hand.'),
  )
}

function reportImport(rewrite: FileRewrite, { statement, module }: OldImport): void {
  rewrite.report(
    statement,
    statement.getText().split('\n')[0]!,
    'Only imports of names in braces are rewritten.',
    `Import the names that you need from tenon instead of ${module}.`,
  )
}

function rewriteExport(rewrite: FileRewrite, module: string, declaration: Node): void {
  if (!Node.isExportDeclaration(declaration)) return
  const found = declaration
    .getNamedExports()
    .map((specifier) => [specifier, findNewName(module, specifier.getName())] as const)
  const froms = new Set(found.map(([, to]) => to?.from))
  const [from] = froms
  if (froms.size !== 1 || from === undefined) {
    rewrite.report(
      declaration,
      declaration.getText().split('\n')[0]!,
      'These names are in several places in Tenon, or have no counterpart.',
      'Export each name from the subpath of tenon that has it.',
    )
    return
  }
  for (const [specifier, to] of found) {
    const exported = specifier.getAliasNode()?.getText() ?? specifier.getName()
    if (to && to.name !== specifier.getName()) rewrite.replace(specifier, `${to.name} as ${exported}`)
  }
  rewrite.replace(declaration.getModuleSpecifier()!, rewrite.literal(from))
}

function newImportLines(rewrite: FileRewrite, kind: OldImport['kind']): string[] {
  const end = usesSemicolons(rewrite) ? ';' : ''
  const modules = [...rewrite.wanted].sort(([a], [b]) => a.localeCompare(b))
  return modules.map(([from, names]) => {
    const list = [...names].sort(([a], [b]) => a.toLowerCase().localeCompare(b.toLowerCase()))
    const source = rewrite.literal(from)
    if (kind !== 'import') {
      const pattern = list.map(([name, { local }]) => (name === local ? name : `${name}: ${local}`)).join(', ')
      return `const { ${pattern} } = ${kind === 'require' ? `require(${source})` : `await import(${source})`}${end}`
    }
    const isJavaScript = /\.[cm]?jsx?$/.test(rewrite.path)
    const shown = isJavaScript ? list.filter(([, { isType }]) => !isType) : list
    const allTypes = shown.every(([, { isType }]) => isType)
    const text = shown.map(([name, { local, isType }]) => {
      const own = name === local ? name : `${name} as ${local}`
      return isType && !allTypes ? `type ${own}` : own
    })
    return `import ${allTypes ? 'type ' : ''}${braces(rewrite, text)} from ${source}${end}`
  })
}

/** The names that stay imported from the old package. */
function keptLine(rewrite: FileRewrite, old: OldImport, names: readonly OldName[]): string | undefined {
  if (names.length === 0) return undefined
  if (names.length === old.names.length) return old.statement.getText()
  const end = usesSemicolons(rewrite) ? ';' : ''
  const source = rewrite.literal(old.module)
  const text = names.map(({ name, local, isType }) => {
    const separator = old.kind === 'import' ? ' as ' : ': '
    const own = name === local.getText() ? name : `${name}${separator}${local.getText()}`
    return isType && old.kind === 'import' ? `type ${own}` : own
  })
  if (old.kind === 'import') return `import ${braces(rewrite, text)} from ${source}${end}`
  return `const ${braces(rewrite, text)} = ${old.kind === 'require' ? `require(${source})` : `await import(${source})`}${end}`
}

function removeImport(rewrite: FileRewrite, { statement }: OldImport): void {
  const full = rewrite.file.getFullText()
  let end = statement.getEnd()
  if (full.startsWith('\r\n', end)) end += 2
  else if (full[end] === '\n') end += 1
  rewrite.text.remove(statement.getStart(), end)
}

function braces(rewrite: FileRewrite, names: readonly string[]): string {
  const line = `{ ${names.join(', ')} }`
  return line.length <= 90 ? line : `{\n${names.map((name) => `${rewrite.indentUnit}${name},`).join('\n')}\n}`
}

function usesSemicolons(rewrite: FileRewrite): boolean {
  const statements = rewrite.file.getStatements()
  return statements.some((statement) => statement.getText().endsWith(';'))
}
