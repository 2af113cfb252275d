import MagicString from 'magic-string'
import { type CallExpression, type Identifier, Node, type ObjectLiteralExpression, type SourceFile } from 'ts-morph'
import type { Finding } from './finding.ts'
import type { NewName } from './names.ts'
import type { ServerCreation } from './server-options.ts'
import { identifiersIn } from './syntax.ts'

interface Wanted {
  readonly local: string
  isType: boolean
}

/** The changes of one file. They are edits of its text, so that formatting and comments stay as they are. */
export class FileRewrite {
  readonly file: SourceFile
  /** The path of the file as reports show it. */
  readonly path: string
  readonly text: MagicString
  readonly findings: Finding[] = []
  /** Names of old imports that no longer occur after the edits. */
  readonly consumed = new Set<Node>()
  /** Names in text that was copied to another place, where later edits do not reach it. */
  readonly copied = new Set<Node>()
  /** Options to add to servers that the file creates. */
  readonly serverOptions = new Map<ServerCreation, string[]>()
  /** Names that the file imports from old packages. They become free. */
  oldNames: ReadonlySet<string> = new Set()
  readonly #wanted = new Map<string, Map<string, Wanted>>()
  #names: ReadonlySet<string> | undefined
  #indentUnit: string | undefined

  constructor(file: SourceFile, path: string) {
    this.file = file
    this.path = path
    this.text = new MagicString(file.getFullText())
  }

  /** The quote that the file uses for imports. */
  get quote(): string {
    const [, quote] = /(['"])(?:@modelcontextprotocol\/|fastmcp['"])/.exec(this.file.getFullText()) ?? []
    return quote ?? (/\bfrom\s*"/.test(this.file.getFullText()) ? '"' : "'")
  }

  /** One step of the indentation that the file has most often. */
  get indentUnit(): string {
    this.#indentUnit ??= indentUnitOf(this.file.getFullText())
    return this.#indentUnit
  }

  /** The white space at the start of the line of a node. */
  lineIndent(node: Node): string {
    return /^[ \t]*/.exec(this.file.getFullText().slice(node.getStartLinePos()))![0]
  }

  /** Whether the file has types. */
  get isTypeScript(): boolean {
    return /\.[cm]?tsx?$/.test(this.path)
  }

  /** A string literal in the style of the file. */
  literal(value: string): string {
    return `${this.quote}${value}${this.quote}`
  }

  /** All names in the file. */
  get names(): ReadonlySet<string> {
    this.#names ??= new Set(identifiersIn(this.file).map((name) => name.getText()))
    return this.#names
  }

  /** The imports to add, by module. */
  get wanted(): ReadonlyMap<string, ReadonlyMap<string, Wanted>> {
    return this.#wanted
  }

  /**
   * Imports a name of Tenon, and returns the name to use for it.
   * @param local The name that the file used for its counterpart, if it stays.
   */
  need({ from, name, isType = false }: NewName, local?: string): string {
    const names = this.#wanted.get(from) ?? new Map<string, Wanted>()
    this.#wanted.set(from, names)
    const known = names.get(name)
    if (known) {
      if (!isType) known.isType = false
      return known.local
    }
    const isTaken = this.names.has(name) && !this.oldNames.has(name)
    const free = isTaken ? `Tenon${name[0]!.toUpperCase()}${name.slice(1)}` : name
    names.set(name, { local: local ?? free, isType })
    return local ?? free
  }

  /** Adds an option to a server, such as `onError: log`. */
  addServerOption(created: ServerCreation, property: string): void {
    this.serverOptions.set(created, [...(this.serverOptions.get(created) ?? []), property])
  }

  /** Returns the text of a node for another place, and keeps the imports that it uses. */
  copy(node: Node): string {
    for (const name of identifiersIn(node)) this.copied.add(name)
    return node.getText()
  }

  /** Replaces a node. */
  replace(node: Node, text: string): void {
    if (node.getText() !== text) this.text.overwrite(node.getStart(), node.getEnd(), text)
    this.#consume(node)
  }

  /** Replaces what is between two positions, and forgets the names in it. */
  replaceRange(start: number, end: number, text: string): void {
    if (start === end) {
      if (text !== '') this.text.appendLeft(start, text)
      return
    }
    if (text === '') this.text.remove(start, end)
    else this.text.overwrite(start, end, text)
    for (const name of identifiersIn(this.file)) {
      if (name.getStart() >= start && name.getEnd() <= end) this.consumed.add(name)
    }
  }

  /** Removes a statement with its line. Comments above it stay. */
  removeStatement(statement: Node): void {
    const full = this.file.getFullText()
    let start = statement.getStart()
    while (full[start - 1] === ' ' || full[start - 1] === '\t') start--
    let end = statement.getEnd()
    while (full[end] === ' ' || full[end] === '\t') end++
    if (full.startsWith('\r\n', end)) end += 2
    else if (full[end] === '\n') end += 1
    this.replaceRange(start, end, '')
  }

  /** Removes properties of an object literal, with their commas. */
  removeProperties(object: ObjectLiteralExpression, names: readonly string[]): void {
    const properties = object.getProperties()
    const isGone = (node: Node | undefined) =>
      node !== undefined && 'getName' in node && names.includes((node as { getName(): string }).getName())
    const kept = properties.filter((property) => !isGone(property))
    for (const [index, property] of properties.entries()) {
      if (!isGone(property)) continue
      const next = properties[index + 1]
      if (next) {
        // The comma and the line break before the next property go with this one.
        this.replaceRange(property.getFullStart(), next.getFullStart(), '')
        continue
      }
      const last = kept.at(-1)
      const end = property.getEnd() + (/^\s*,/.exec(this.file.getFullText().slice(property.getEnd()))?.[0].length ?? 0)
      const hasTrailingComma = end > property.getEnd()
      this.replaceRange(last && !hasTrailingComma ? last.getEnd() : property.getFullStart(), end, '')
    }
  }

  /**
   * Turns the object literal of an argument into arguments: `{ b: 2, a: 1 }` with the order `a`, `b` into `1, 2`. Properties
   * that are not in the order are removed; missing ones at the end are left out.
   */
  spreadArgument(object: ObjectLiteralExpression, values: readonly (Node | string)[]): void {
    const nodes = values.filter((value): value is Node => typeof value !== 'string')
    const sorted = [...nodes].sort((a, b) => a.getStart() - b.getStart())
    const isInOrder = nodes.every((node, index) => node === sorted[index]) && nodes.length === values.length
    let before: Node | undefined
    values.forEach((value, index) => {
      const separator = index < values.length - 1 ? ', ' : ''
      if (typeof value === 'string') {
        this.text.appendLeft(before?.getEnd() ?? object.getStart(), value + separator)
        return
      }
      if (separator) this.text.appendLeft(value.getEnd(), separator)
      if (!isInOrder) this.text.move(value.getStart(), value.getEnd(), object.getStart())
      before = value
    })
    let at = object.getStart()
    for (const node of sorted) {
      this.replaceRange(at, node.getStart(), '')
      at = node.getEnd()
    }
    this.replaceRange(at, object.getEnd(), '')
  }

  /** Removes an argument of a call, with its comma. */
  removeArgument(call: CallExpression, index: number): void {
    const args = call.getArguments()
    const before = args[index - 1]
    const after = args[index + 1]
    const argument = args[index]!
    if (before) this.replaceRange(before.getEnd(), argument.getEnd(), '')
    else this.replaceRange(argument.getStart(), after ? after.getStart() : argument.getEnd(), '')
  }

  /** Renames a name. Keeps the property of a shorthand: `{ a }` becomes `{ a: b }`. */
  rename(name: Identifier, text: string): void {
    const parent = name.getParent()
    if (Node.isShorthandPropertyAssignment(parent) && text !== name.getText()) {
      this.replace(name, `${name.getText()}: ${text}`)
    } else this.replace(name, text)
  }

  /** Indents the lines of a node except the first, and leaves the text of template literals alone. */
  indent(node: Node, by: string): void {
    const full = this.file.getFullText()
    for (const at of lineStarts(node)) if (full[at] !== '\n') this.text.appendRight(at, by)
  }

  /** Removes up to some spaces at the start of the lines of a node, except the first. */
  dedent(node: Node, spaces: number): void {
    const full = this.file.getFullText()
    for (const at of lineStarts(node)) {
      const found = /^ */.exec(full.slice(at, at + spaces))![0].length
      if (found > 0) this.text.remove(at, at + found)
    }
  }

  /** Adds something that a person has to look at. */
  report(node: Node, found: string, reason: string, action: string): void {
    const line = node.getStartLineNumber()
    if (this.findings.some((other) => other.line === line && other.found === found)) return
    this.findings.push({ file: this.path, line, found, reason, action })
  }

  #consume(node: Node): void {
    this.consumed.add(node)
    for (const inner of node.getDescendants()) if (Node.isIdentifier(inner)) this.consumed.add(inner)
  }
}

/** The white space that lines get after one that opens a bracket: two spaces, unless most lines of the file get something else. */
function indentUnitOf(text: string): string {
  const counts = new Map<string, number>()
  for (const [, outer = '', inner = ''] of text.matchAll(/^([ \t]*)\S.*[{([]\r?\n(?=([ \t]+)\S)/gm)) {
    const unit = inner.startsWith(outer) ? inner.slice(outer.length) : ''
    if (unit !== '') counts.set(unit, (counts.get(unit) ?? 0) + 1)
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most?.[0] ?? '  '
}

/** The positions of the lines of a node that are not inside a template literal, except the first. */
function lineStarts(node: Node): number[] {
  const full = node.getSourceFile().getFullText()
  const templates = node.getDescendants().concat(node).filter(isTemplatePart)
  const starts: number[] = []
  for (let at = full.indexOf('\n', node.getStart()); at !== -1 && at < node.getEnd(); at = full.indexOf('\n', at + 1)) {
    if (!templates.some((template) => template.getStart() <= at && at < template.getEnd())) starts.push(at + 1)
  }
  return starts
}

function isTemplatePart(node: Node): boolean {
  return (
    Node.isNoSubstitutionTemplateLiteral(node) ||
    Node.isTemplateHead(node) ||
    Node.isTemplateMiddle(node) ||
    Node.isTemplateTail(node)
  )
}
