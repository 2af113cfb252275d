import { type Identifier, Node, type SourceFile, ts } from 'ts-morph'
import { sourceOf } from './declarations.ts'
import { referencesOf } from './syntax.ts'

/** A name that a file imports from an official package. */
export interface OldName {
  readonly module: string
  /** The name in the package. */
  readonly name: string
  /** The name in the file. */
  readonly local: Identifier
  readonly isType: boolean
  readonly uses: readonly Identifier[]
}

/** An import, a `require` or a dynamic import of an official package. */
export interface OldImport {
  readonly module: string
  readonly kind: 'import' | 'require' | 'dynamic'
  /** The statement to replace. */
  readonly statement: Node
  readonly names: readonly OldName[]
  /** Whether it can be replaced: it has only names in braces. */
  readonly isSimple: boolean
}

/** Finds the imports of official packages in a file. */
export function findOldImports(file: SourceFile): OldImport[] {
  return [...staticImports(file), ...variableImports(file)]
}

/** Returns the names that a file imports from each official module, to declare them. */
export function collectNames(file: SourceFile, into: Map<string, Set<string>>): void {
  const add = (module: string, name?: string) => {
    const names = into.get(module) ?? new Set()
    into.set(module, names)
    if (name !== undefined) names.add(name)
  }
  for (const declaration of file.getImportDeclarations()) {
    const module = declaration.getModuleSpecifierValue()
    if (!sourceOf(module)) continue
    add(module)
    for (const specifier of declaration.getNamedImports()) add(module, specifier.getName())
  }
  for (const declaration of file.getExportDeclarations()) {
    const module = declaration.getModuleSpecifierValue()
    if (module === undefined || !sourceOf(module)) continue
    add(module)
    for (const specifier of declaration.getNamedExports()) add(module, specifier.getName())
  }
  for (const { module, names } of variableImports(file)) {
    add(module)
    for (const { name } of names) add(module, name)
  }
}

function staticImports(file: SourceFile): OldImport[] {
  return file.getImportDeclarations().flatMap((statement) => {
    const module = statement.getModuleSpecifierValue()
    if (!sourceOf(module)) return []
    const names = statement.getNamedImports().map((specifier): OldName => {
      const local = specifier.getAliasNode() ?? (specifier.getNameNode() as Identifier)
      const isType = statement.isTypeOnly() || specifier.isTypeOnly()
      return { module, name: specifier.getName(), local, isType, uses: usesOf(local) }
    })
    const isSimple = !statement.getNamespaceImport() && !statement.getDefaultImport() && names.length > 0
    return [{ module, kind: 'import' as const, statement, names, isSimple }]
  })
}

/** `const { McpServer } = require('...')`, or with `await import('...')`. */
function variableImports(file: SourceFile): OldImport[] {
  return file.getDescendantsOfKind(ts.SyntaxKind.CallExpression).flatMap((call) => {
    const [argument] = call.getArguments()
    const callee = call.getExpression()
    const isRequire = callee.getText() === 'require'
    if (!Node.isStringLiteral(argument) || !(isRequire || callee.getKind() === ts.SyntaxKind.ImportKeyword)) return []
    const module = argument.getLiteralValue()
    if (!sourceOf(module)) return []
    const value = isRequire ? call : call.getParentIfKind(ts.SyntaxKind.AwaitExpression)
    const declaration = value?.getParentIfKind(ts.SyntaxKind.VariableDeclaration)
    const pattern = declaration?.getNameNode()
    const elements = Node.isObjectBindingPattern(pattern) ? pattern.getElements() : []
    const names = elements.flatMap((element): OldName[] => {
      const local = element.getNameNode()
      if (!Node.isIdentifier(local)) return []
      const name = (element.getPropertyNameNode() ?? local).getText()
      return [{ module, name, local, isType: false, uses: referencesOf(local) }]
    })
    const statement = declaration?.getVariableStatement()
    const isSimple = names.length > 0 && names.length === elements.length && statement?.getDeclarations().length === 1
    const kind = isRequire ? ('require' as const) : ('dynamic' as const)
    return [{ module, kind, statement: statement ?? call, names, isSimple }]
  })
}

function usesOf(local: Identifier): Identifier[] {
  return referencesOf(local).filter((use) => !Node.isImportSpecifier(use.getParent()))
}
