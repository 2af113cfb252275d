// Finds gaps in the public types: a type that a public declaration mentions but no subpath exports, and a name that stands
// for different things in different subpaths.
import { createRequire } from 'node:module'
import { join, relative, sep } from 'node:path'

const ts = createRequire(import.meta.url)('typescript-5')

/** A generic type that only its own module can name computes other types; users never write it. */
function isHelper(declaration) {
  const isExported = ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export
  return ts.isTypeAliasDeclaration(declaration) && declaration.typeParameters !== undefined && !isExported
}

/**
 * @param {string} sdk The folder of the package, with its declarations built.
 * @param {Map<string, string>} entries The declaration file of each subpath.
 * @returns {string[]} The problems found.
 */
export function publicTypeProblems(sdk, entries) {
  const dist = join(sdk, 'dist') + sep
  const program = ts.createProgram([...entries.values()], { module: ts.ModuleKind.NodeNext, skipLibCheck: true })
  const checker = program.getTypeChecker()
  const resolve = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)
  const exported = new Map()
  const problems = []
  for (const [subpath, file] of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file))
    for (const symbol of checker.getExportsOfModule(module)) {
      const target = resolve(symbol)
      const first = exported.get(symbol.name)
      if (!first) exported.set(symbol.name, { target, subpath })
      else if (first.target !== target) {
        problems.push(`${symbol.name} is one thing in ${first.subpath} and another in ${subpath}`)
      }
    }
  }
  const known = new Set([...exported.values()].map(({ target }) => target))
  const missing = new Map()
  for (const [name, { target, subpath }] of exported) {
    for (const declaration of target.declarations ?? []) visit(declaration, name, subpath)
  }
  for (const [symbol, places] of missing) {
    const file = relative(dist, symbol.declarations[0].getSourceFile().fileName)
    problems.push(`${symbol.name} (${file}) is not exported, but mentioned by ${[...places].join(', ')}`)
  }
  return problems

  function visit(node, name, subpath) {
    const reference = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : undefined
    const symbol = reference && checker.getSymbolAtLocation(reference)
    if (symbol) note(resolve(symbol), name, subpath)
    ts.forEachChild(node, (child) => visit(child, name, subpath))
  }

  function note(symbol, name, subpath) {
    if (known.has(symbol) || symbol.flags & ts.SymbolFlags.TypeParameter) return
    const declaration = symbol.declarations?.[0]
    if (!declaration?.getSourceFile().fileName.startsWith(dist) || isHelper(declaration)) return
    missing.set(symbol, (missing.get(symbol) ?? new Set()).add(`${name} of ${subpath}`))
  }
}

/**
 * @param {Map<string, string>} entries The declaration file of each subpath.
 * @returns {Map<string, string[]>} The names that each subpath exports, values and types.
 */
export function publicNames(entries) {
  const program = ts.createProgram([...entries.values()], { module: ts.ModuleKind.NodeNext, skipLibCheck: true })
  const checker = program.getTypeChecker()
  const namesOf = (file) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file))
    return checker.getExportsOfModule(module).map(({ name }) => name)
  }
  return new Map([...entries].map(([subpath, file]) => [subpath, namesOf(file)]))
}
