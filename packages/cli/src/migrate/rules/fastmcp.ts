import { type CallExpression, Node, type ObjectLiteralExpression, type PropertyAccessExpression, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { Handlers } from '../handlers.ts'
import { reportSession, sessionStub } from '../session.ts'
import {
  classOf,
  type FunctionNode,
  functionOf,
  hasSpread,
  keysOf,
  propertyNamed,
  propertyValue,
  returnedBy,
  stringOf,
  withoutCasts,
} from '../syntax.ts'
import { completerText, functionBehind, keepLoad, readsAllParameters, takesParameter } from './fastmcp-auth.ts'
import { rewriteToolVariable } from './fastmcp-variables.ts'

/** Rewrites the registrations of FastMCP, its constructor and `start()`. */
export function rewriteFastMcp(
  rewrite: FileRewrite,
  rewrites: ReadonlyMap<string, FileRewrite>,
  handlers: Handlers,
): void {
  const wrapped = new Set<Node>()
  for (const created of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.NewExpression)) {
    if (classOf(created) === 'FastServer') rewriteConstructor(rewrite, created)
  }
  for (const access of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.PropertyAccessExpression)) {
    if (classOf(access.getExpression()) !== 'FastServer') continue
    const call = access.getParent()
    const isCalled = Node.isCallExpression(call) && call.getExpression() === access
    const tools =
      isCalled && access.getName() === 'addTool' ? rewriteToolVariable(rewrite, rewrites, handlers, call, access) : []
    for (const tool of tools ?? []) {
      if (tool.fn !== tool.execute || wrapped.has(tool.fn)) continue
      wrapped.add(tool.fn)
      wrapContent(tool.rewrite, tool.fn)
    }
    if (tools && tools.length > 0) continue
    if (isCalled) rewriteCall(rewrite, handlers, call, access)
    else if (Node.isBinaryExpression(call) && call.getLeft() === access)
      keepReplacement(rewrite, access, call.getRight())
    else reportMember(rewrite, access)
  }
}

function rewriteCall(
  rewrite: FileRewrite,
  handlers: Handlers,
  call: CallExpression,
  access: PropertyAccessExpression,
): void {
  const name = access.getName()
  if (name === 'start') return rewriteStart(rewrite, call, access)
  if (name === 'stop') return rewrite.replace(access.getNameNode(), 'close')
  const first = call.getArguments()[0]
  const object = first && withoutCasts(first)
  const isLiteral = Node.isObjectLiteralExpression(object) && !hasSpread(object)
  if (isLiteral && name === 'addTool') return rewriteTool(rewrite, handlers, access, object)
  if (isLiteral && name === 'addResource') return rewriteResource(rewrite, access, object)
  if (isLiteral && name === 'addResourceTemplate') return rewriteTemplate(rewrite, access, object)
  if (isLiteral && name === 'addPrompt') return rewritePrompt(rewrite, access, object)
  reportMember(rewrite, access)
}

/** `server.addTool = ...` may check tools or callers, and calls of it became calls of `registerTool`. */
function keepReplacement(rewrite: FileRewrite, access: PropertyAccessExpression, value: Node): void {
  const name = access.getName()
  rewrite.report(
    access,
    access.getText(),
    `The program replaces ${name}, which Tenon does not have. Its checks would not run, so it does not compile until you rewrite it.`,
    `Make the checks in a function that calls registerTool and so on, and remove ${checkStub}.`,
  )
  markUnresolved(rewrite, value, checkStub)
}

const infoKeys = new Set(['name', 'version', 'title', 'icons', 'websiteUrl'])

/** `new FastMCP({ name, version, instructions })` has the options of a server in the same object. */
function rewriteConstructor(rewrite: FileRewrite, created: Node): void {
  if (!Node.isNewExpression(created)) return
  const typeArguments = created.getTypeArguments()
  if (typeArguments.length > 0)
    rewrite.replaceRange(created.getExpression().getEnd(), typeArguments.at(-1)!.getEnd() + 1, '')
  const first = created.getArguments()[0]
  const options = first && withoutCasts(first)
  if (!Node.isObjectLiteralExpression(options) || hasSpread(options)) {
    rewrite.report(
      created,
      created.getText().split('\n')[0]!,
      'The options are not written out here, so this does not compile.',
      'Pass { name, version } as the first argument, { instructions } as the second, and auth to serveHttp.',
    )
    if (first) markUnresolved(rewrite, first, 'SPLIT_INTO_info_AND_options')
    return
  }
  const moved = keysOf(options).filter((key) => !infoKeys.has(key))
  for (const key of moved) {
    if (key !== 'instructions') reportOption(rewrite, options, key)
  }
  const instructions = propertyValue(options, 'instructions')
  const kept = (isKept: (key: string) => boolean) =>
    moved
      .filter(isKept)
      .map((key) => rewrite.copy(propertyNamed(options, key)!))
      .join(', ')
  const auth = kept((key) => authOptions.has(key))
  const checks = kept(mayCheck)
  const texts = [
    ...(instructions
      ? [instructions.getText() === 'instructions' ? 'instructions' : `instructions: ${rewrite.copy(instructions)}`]
      : []),
    ...(auth === '' ? [] : [`...PASS_auth_TO_serveHttp({ ${auth} })`]),
    ...(checks === '' ? [] : [`...${checkStub}({ ${checks} })`]),
  ]
  if (texts.length > 0) rewrite.text.appendLeft(first!.getEnd(), `, { ${texts.join(', ')} }`)
  if (moved.length > 0) rewrite.removeProperties(options, moved)
}

/** Without these options the program would serve everyone. They stay as a call of a function that does not exist. */
const authOptions = new Set(['authenticate', 'auth', 'oauth'])

/** Options that refuse nothing, so that a program is as closed without them. */
const harmlessOptions = new Set(['health', 'ping', 'logger', 'roots', 'streamKeepalive', 'utils'])

/** A function that does not exist. It keeps options that may refuse a call: hooks, and those of other versions of FastMCP. */
const checkStub = 'CHECK_IN_HANDLERS'

/** Whether an option of a server may refuse calls, for example by throwing in `onToolCall`. */
function mayCheck(key: string): boolean {
  return key !== 'instructions' && !infoKeys.has(key) && !authOptions.has(key) && !harmlessOptions.has(key)
}

function keptReason(key: string): string {
  return `The option "${key}" may refuse calls, so it was kept, and the program does not compile until you rewrite it.`
}

const keptAction = `Check it in the handlers, or with the option auth of serveHttp, and remove ${checkStub}.`

/** Makes an expression fail to compile, and to run: a person has to rewrite it. */
function markUnresolved(rewrite: FileRewrite, node: Node, name: string): void {
  rewrite.text.appendLeft(node.getStart(), `${name}(`)
  rewrite.text.appendRight(node.getEnd(), ')')
}

const optionHints: Readonly<Record<string, string>> = {
  authenticate: 'Pass auth to serveHttp or createMcpHandler: docs/auth-servers.md.',
  auth: 'Pass auth to serveHttp or createMcpHandler: docs/auth-servers.md.',
  oauth: 'Pass auth to serveHttp or createMcpHandler: docs/auth-servers.md.',
  health: 'Pass healthPath to serveHttp.',
  ping: 'Pass ping: { intervalMs } to the server.',
  logger: 'Tenon reports errors to the option onError.',
  roots: 'Use ctx.roots() in handlers.',
}

function reportOption(rewrite: FileRewrite, options: ObjectLiteralExpression, key: string): void {
  const property = propertyNamed(options, key)!
  if (mayCheck(key)) return rewrite.report(property, property.getText().split('\n')[0]!, keptReason(key), keptAction)
  const hint = Object.hasOwn(optionHints, key) ? optionHints[key]! : 'docs/servers.md lists the options.'
  const reason = authOptions.has(key)
    ? `The option "${key}" decides who may call, so it was kept, and the program does not compile until you rewrite it.`
    : `The option "${key}" was removed: Tenon has no such option.`
  rewrite.report(property, property.getText().split('\n')[0]!, reason, hint)
}

const harmlessToolOptions: Readonly<Record<string, string>> = {
  timeoutMs: 'Stop the work yourself: AbortSignal.any([ctx.signal, AbortSignal.timeout(ms)]).',
}

const toolKeys = new Set(['name', 'description', 'parameters', 'outputSchema', 'annotations', 'execute', '_meta'])

function rewriteTool(
  rewrite: FileRewrite,
  handlers: Handlers,
  access: PropertyAccessExpression,
  tool: ObjectLiteralExpression,
): void {
  const execute = propertyValue(tool, 'execute')
  const name = propertyValue(tool, 'name')
  if (!execute || !name) return reportMember(rewrite, access)
  rewrite.replace(access.getNameNode(), 'registerTool')
  renameProperty(rewrite, tool, 'parameters', 'inputSchema')
  const canAccess = propertyValue(tool, 'canAccess')
  if (canAccess) keepCanAccess(rewrite, tool, canAccess)
  const unknown = keysOf(tool).filter((key) => !toolKeys.has(key) && key !== 'canAccess')
  const harmless = unknown.filter((key) => Object.hasOwn(harmlessToolOptions, key))
  for (const key of unknown) {
    if (harmless.includes(key)) reportToolOption(rewrite, tool, key)
    else keepToolOption(rewrite, tool, key)
  }
  takeOut(rewrite, tool, { first: [name.getText()], last: execute, gone: ['name', ...harmless] })
  const fn = functionBehind(execute)
  if (fn === execute) wrapContent(rewrite, fn)
  addToolHandler(rewrite, handlers, execute, fn)
}

/** Adds the handler of a tool, and marks it if it may read the session. */
function addToolHandler(rewrite: FileRewrite, handlers: Handlers, execute: Node, fn: FunctionNode | undefined): void {
  let isMarked = false
  const onSession = () => {
    if (isMarked) return
    isMarked = true
    rewrite.text.appendRight(execute.getStart(), `${sessionStub}(`)
    rewrite.text.appendLeft(execute.getEnd(), ')')
  }
  if (fn && !takesParameter(fn, 1)) {
    if (fn === execute) handlers.add(rewrite, fn, { ctxIndex: 1, placeholders: ['_args'], onSession })
    return
  }
  const isVisible = fn?.getSourceFile() === rewrite.file && !readsAllParameters(fn)
  if (isVisible) return handlers.add(rewrite, fn, { ctxIndex: 1, placeholders: ['_args'], onSession })
  reportSession(rewrite, execute)
  onSession()
}

/** Without it, everyone could call the tool. */
function keepCanAccess(rewrite: FileRewrite, tool: ObjectLiteralExpression, canAccess: Node): void {
  const property = propertyNamed(tool, 'canAccess')!
  rewrite.report(
    property,
    property.getText().split('\n')[0]!,
    'It decides who may call the tool, so it was kept, and the program does not compile until you rewrite it.',
    'Use requiredScopes and hideUnauthorized of the tool: docs/auth-servers.md.',
  )
  // Of a method, the whole is the value.
  if (canAccess === property) rewrite.text.appendLeft(property.getStart(), 'requiredScopes: REPLACE_canAccess({ ')
  else rewrite.replaceRange(property.getStart(), canAccess.getStart(), 'requiredScopes: REPLACE_canAccess(')
  rewrite.text.appendLeft(property.getEnd(), canAccess === property ? ' })' : ')')
}

/** Without it, a call that it refuses would be answered. */
function keepToolOption(rewrite: FileRewrite, tool: ObjectLiteralExpression, key: string): void {
  const property = propertyNamed(tool, key)!
  rewrite.report(property, property.getText().split('\n')[0]!, keptReason(key), keptAction)
  rewrite.text.appendLeft(property.getStart(), `...${checkStub}({ `)
  rewrite.text.appendLeft(property.getEnd(), ' })')
}

function reportToolOption(rewrite: FileRewrite, tool: ObjectLiteralExpression, key: string): void {
  const property = propertyNamed(tool, key)!
  rewrite.report(
    property,
    property.getText().split('\n')[0]!,
    `The option "${key}" was removed: tools of Tenon have no such option.`,
    harmlessToolOptions[key]!,
  )
}

/** FastMCP takes a single content block as the result; Tenon takes text or `{ content }`. */
function wrapContent(rewrite: FileRewrite, fn: FunctionNode): void {
  for (const value of returnedBy(fn)) {
    const object = withoutCasts(value)
    const media = Node.isAwaitExpression(object) ? object.getExpression() : object
    if (isMedia(media)) wrapMedia(rewrite, value, media === object && !fn.isAsync())
    // Without await, the promise of the block would be in the list.
    if (isMedia(media) && media === object && fn.isAsync()) rewrite.text.prependRight(value.getStart(), 'await ')
    if (!Node.isObjectLiteralExpression(object)) continue
    const keys = keysOf(object)
    if (!keys.includes('type') || keys.includes('content')) continue
    rewrite.text.appendLeft(object.getStart(), '{ content: [')
    rewrite.text.appendRight(object.getEnd(), '] }')
  }
}

/** `imageContent(...)` and `audioContent(...)`, which return a promise, by whatever name they are imported. */
function isMedia(node: Node): boolean {
  const callee = Node.isCallExpression(node) ? node.getExpression() : undefined
  const imported = Node.isIdentifier(callee) ? callee.getSymbol()?.getDeclarations()[0] : undefined
  const name = Node.isImportSpecifier(imported) ? imported.getName() : callee?.getText()
  return name !== undefined && /^(image|audio)Content$/.test(name)
}

function wrapMedia(rewrite: FileRewrite, value: Node, isPromise: boolean): void {
  if (isPromise) return rewrite.replaceRange(value.getEnd(), value.getEnd(), '.then((block) => ({ content: [block] }))')
  const isBody = Node.isArrowFunction(value.getParent())
  rewrite.text.appendLeft(value.getStart(), isBody ? '({ content: [' : '{ content: [')
  rewrite.text.appendRight(value.getEnd(), isBody ? '] })' : '] }')
}

function rewriteResource(
  rewrite: FileRewrite,
  access: PropertyAccessExpression,
  resource: ObjectLiteralExpression,
): void {
  const load = propertyValue(resource, 'load')
  const name = propertyValue(resource, 'name')
  const uri = propertyValue(resource, 'uri')
  if (!load || !name || !uri) return reportMember(rewrite, access)
  rewrite.replace(access.getNameNode(), 'registerResource')
  rewriteLoad(rewrite, load, [])
  takeOut(rewrite, resource, { first: [name.getText(), uri.getText()], last: load, gone: ['name', 'uri', 'complete'] })
}

function rewriteTemplate(
  rewrite: FileRewrite,
  access: PropertyAccessExpression,
  template: ObjectLiteralExpression,
): void {
  const load = propertyValue(template, 'load')
  const name = propertyValue(template, 'name')
  const uri = propertyValue(template, 'uriTemplate')
  if (!load || !name || !uri) return reportMember(rewrite, access)
  rewrite.replace(access.getNameNode(), 'registerResource')
  const resourceTemplate = rewrite.need({ from: 'tenon/server', name: 'ResourceTemplate' })
  const completers = completersOf(rewrite, propertyValue(template, 'arguments'))
  const options = completers === '' ? '' : `, { complete: { ${completers} } }`
  rewriteLoad(rewrite, load, ['_uri'])
  takeOut(rewrite, template, {
    first: [name.getText(), `new ${resourceTemplate}(${uri.getText()}${options})`],
    last: load,
    gone: ['name', 'uriTemplate', 'arguments', 'complete'],
  })
}

/** `load` of FastMCP returns `{ text }`; a reader of Tenon returns the text itself. */
function rewriteLoad(rewrite: FileRewrite, load: Node, inserted: readonly string[]): void {
  const parameters = inserted.length > 0 ? 'uri, args' : 'uri'
  const args = inserted.length > 0 ? ['args'] : []
  const before = (list: string) => `async (${list}) => ({ contents: [await `
  const after = (list: string) => `(${list})].flat().map((content) => ({ uri: uri.href, ...content })) })`
  if (takesParameter(load, args.length)) {
    return keepLoad(rewrite, load, {
      authIndex: args.length,
      before: before(`${parameters}, ctx`),
      after: after([...args, 'ctx.auth'].join(', ')),
    })
  }
  const fn = functionOf(load)
  const values = fn && fn === load ? returnedBy(fn) : []
  const isText = (value: Node) => {
    const object = withoutCasts(value)
    return Node.isObjectLiteralExpression(object) && keysOf(object).length === 1 && keysOf(object)[0] === 'text'
  }
  if (fn && values.length > 0 && values.every(isText)) {
    for (const value of values) {
      const object = withoutCasts(value) as ObjectLiteralExpression
      const text = propertyValue(object, 'text')!
      // Parentheses around the body of an arrow function are not needed for a text.
      const outer = Node.isParenthesizedExpression(value) ? value : object
      rewrite.replaceRange(outer.getStart(), text.getStart(), '')
      rewrite.replaceRange(text.getEnd(), outer.getEnd(), '')
    }
    const [parameter] = fn.getParameters()
    if (inserted.length > 0 && parameter) rewrite.text.prependRight(parameter.getStart(), `${inserted.join(', ')}, `)
    return
  }
  rewrite.text.prependRight(load.getStart(), `${before(parameters)}(`)
  rewrite.text.appendLeft(load.getEnd(), `)${after(args.join(', '))}`)
}

function rewritePrompt(rewrite: FileRewrite, access: PropertyAccessExpression, prompt: ObjectLiteralExpression): void {
  const load = propertyValue(prompt, 'load')
  const name = propertyValue(prompt, 'name')
  const list = propertyValue(prompt, 'arguments')
  const schema = list && toArgsSchema(rewrite, list)
  if (!load || !name || (list && schema === undefined)) return reportMember(rewrite, access)
  rewrite.replace(access.getNameNode(), 'registerPrompt')
  if (takesParameter(load, 1))
    keepLoad(rewrite, load, { authIndex: 1, before: 'async (args, ctx) => ', after: '(args, ctx.auth)' })
  const property = propertyNamed(prompt, 'arguments')
  const completers = completersOf(rewrite, list)
  if (property && schema !== undefined) {
    const complete = completers === '' ? '' : `, complete: { ${completers} }`
    rewrite.replace(property, `argsSchema: ${schema}${complete}`)
  }
  takeOut(rewrite, prompt, { first: [name.getText()], last: load, gone: ['name'] })
}

/** Writes the arguments of a prompt as a JSON Schema. */
function toArgsSchema(rewrite: FileRewrite, list: Node): string | undefined {
  const array = withoutCasts(list)
  if (!Node.isArrayLiteralExpression(array)) return undefined
  const properties: string[] = []
  const required: string[] = []
  for (const element of array.getElements()) {
    const item = withoutCasts(element)
    const name = Node.isObjectLiteralExpression(item) ? stringOf(propertyValue(item, 'name')) : undefined
    if (name === undefined || !Node.isObjectLiteralExpression(item)) return undefined
    const description = propertyValue(item, 'description')
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : rewrite.literal(name)
    const values = propertyValue(item, 'enum')
    const parts = [`type: ${rewrite.literal('string')}`]
    if (description) parts.push(`description: ${description.getText()}`)
    if (values) parts.push(`enum: ${values.getText()}`)
    properties.push(`${key}: { ${parts.join(', ')} }`)
    if (propertyValue(item, 'required')?.getText() === 'true') required.push(rewrite.literal(name))
  }
  const requiredText = required.length > 0 ? `, required: [${required.join(', ')}]` : ''
  return `{ type: ${rewrite.literal('object')}, properties: { ${properties.join(', ')} }${requiredText} }`
}

/** The completers of arguments: a function, or the values of `enum`. */
function completersOf(rewrite: FileRewrite, list: Node | undefined): string {
  const array = list && withoutCasts(list)
  if (!Node.isArrayLiteralExpression(array)) return ''
  const found = array.getElements().flatMap((element) => {
    const item = withoutCasts(element)
    if (!Node.isObjectLiteralExpression(item)) return []
    const completer = propertyValue(item, 'complete')
    const text = completer ? completerText(rewrite, completer) : propertyValue(item, 'enum')?.getText()
    const name = stringOf(propertyValue(item, 'name'))
    return text !== undefined && name !== undefined ? [`${name}: ${text}`] : []
  })
  return found.join(', ')
}

/** `start({ transportType })` */
function rewriteStart(rewrite: FileRewrite, call: CallExpression, access: PropertyAccessExpression): void {
  const server = access.getExpression()
  const first = call.getArguments()[0]
  const options = first && withoutCasts(first)
  const object = Node.isObjectLiteralExpression(options) && !hasSpread(options) ? options : undefined
  const transport = object && stringOf(propertyValue(object, 'transportType'))
  if (!first || transport === 'stdio') {
    const serveStdio = rewrite.need({ from: 'tenon/server', name: 'serveStdio' })
    rewrite.text.appendLeft(call.getStart(), `${serveStdio}(`)
    return rewrite.replaceRange(server.getEnd(), call.getEnd(), ')')
  }
  const http = object && propertyValue(object, 'httpStream')
  const given = http && withoutCasts(http)
  if (transport !== 'httpStream' || (http && !Node.isObjectLiteralExpression(given))) {
    rewrite.report(
      call,
      call.getText().split('\n')[0]!,
      'The transport is not written out here.',
      'Call serveStdio(server), or serveHttp(server, { port }).',
    )
    return
  }
  const serveHttp = rewrite.need({ from: 'tenon/server', name: 'serveHttp' })
  const text = Node.isObjectLiteralExpression(given) ? httpOptions(rewrite, given) : ''
  rewrite.text.appendLeft(call.getStart(), `${serveHttp}(`)
  rewrite.replaceRange(server.getEnd(), call.getEnd(), `, { ${text || 'port: 8080'} })`)
}

const httpNames: Readonly<Record<string, string>> = {
  port: 'port',
  host: 'host',
  endpoint: 'path',
  eventStore: 'eventStore',
}

function httpOptions(rewrite: FileRewrite, options: ObjectLiteralExpression): string {
  const parts = keysOf(options).flatMap((key) => {
    const value = propertyValue(options, key)
    const text = value?.getText() ?? ''
    if (key === 'stateless') return text === 'true' ? ['sessions: false'] : []
    const to = Object.hasOwn(httpNames, key) ? httpNames[key]! : undefined
    if (to !== undefined) return [to === text ? to : `${to}: ${text}`]
    rewrite.report(
      propertyNamed(options, key)!,
      propertyNamed(options, key)!.getText(),
      `The option "${key}" was removed: it has another form in Tenon, or none.`,
      'docs/http.md lists the options of serveHttp.',
    )
    return []
  })
  return parts.join(', ')
}

interface TakenOut {
  /** Arguments in front of the object. */
  readonly first: readonly string[]
  /** The value that becomes the argument after the object. */
  readonly last: Node
  /** Properties that go away. */
  readonly gone: readonly string[]
}

/** Turns `{ name, ..., execute }` into `name, { ... }, execute`. */
function takeOut(rewrite: FileRewrite, object: ObjectLiteralExpression, { first, last, gone }: TakenOut): void {
  const isMethod = Node.isMethodDeclaration(last)
  const property = isMethod ? last : last.getParent()!
  const properties = object.getProperties()
  const index = properties.indexOf(property as (typeof properties)[number])
  const next = properties[index + 1]
  const before = properties.slice(0, index).findLast((other) => !('getName' in other && gone.includes(other.getName())))
  rewrite.text.appendLeft(object.getStart(), `${first.join(', ')}, `)
  rewrite.removeProperties(object, gone)
  if (isMethod) writeMethodAsFunction(rewrite, last)
  const full = rewrite.file.getFullText()
  const comma = /^\s*,/.exec(full.slice(last.getEnd()))?.[0].length ?? 0
  const start = next || comma > 0 || !before ? property.getFullStart() : before.getEnd()
  rewrite.replaceRange(start, last.getStart(), '')
  const isEmptied = properties.every(
    (other) => other === property || ('getName' in other && gone.includes(other.getName())),
  )
  if (isEmptied) rewrite.text.remove(last.getEnd(), object.getEnd() - 1)
  rewrite.replaceRange(last.getEnd(), next ? next.getFullStart() : last.getEnd() + comma, '')
  rewrite.text.move(last.getStart(), last.getEnd(), object.getEnd())
  rewrite.text.prependRight(last.getStart(), ', ')
  const shift = columnOf(full, property.getStart()) - columnOf(full, object.getParent()!.getStart())
  if (shift > 0) rewrite.dedent(last, shift)
}

function columnOf(text: string, at: number): number {
  const start = text.lastIndexOf('\n', at - 1) + 1
  return /^ */.exec(text.slice(start))![0].length
}

/** `async execute(args) { ... }` becomes `async function execute(args) { ... }`. */
function writeMethodAsFunction(rewrite: FileRewrite, method: Node): void {
  if (Node.isMethodDeclaration(method)) rewrite.text.appendLeft(method.getNameNode().getStart(), 'function ')
}

function renameProperty(rewrite: FileRewrite, object: ObjectLiteralExpression, from: string, to: string): void {
  const property = propertyNamed(object, from)
  if (Node.isShorthandPropertyAssignment(property)) rewrite.replace(property, `${to}: ${from}`)
  else if (Node.isPropertyAssignment(property)) rewrite.replace(property.getNameNode(), to)
}

const memberHints: Readonly<Record<string, string>> = {
  addTool: 'Write server.registerTool(name, { description, inputSchema }, handler).',
  addTools: 'Call server.registerTool for each tool.',
  addResource: 'Write server.registerResource(name, uri, { mimeType }, (uri) => text).',
  addResources: 'Call server.registerResource for each resource.',
  addResourceTemplate:
    'Write server.registerResource(name, new ResourceTemplate(uri), { mimeType }, (uri, variables) => text).',
  addPrompt: 'Write server.registerPrompt(name, { description, argsSchema }, handler).',
  addPrompts: 'Call server.registerPrompt for each prompt.',
  on: 'A server of Tenon has no events for connections. Read ctx.caller in handlers.',
  sessions: 'A server of Tenon has links: server.server.links.',
  getApp: 'Use createMcpHandler(server) in your own app: docs/http.md.',
  embedded: 'Return { type: "resource", resource: { uri, text } }.',
}

function reportMember(rewrite: FileRewrite, access: PropertyAccessExpression): void {
  const name = access.getName()
  rewrite.report(
    access,
    access.getText(),
    'It was not rewritten: its argument is not written out here, or Tenon has no counterpart.',
    Object.hasOwn(memberHints, name) ? memberHints[name]! : 'See docs/servers.md.',
  )
}
