import { type BindingElement, type Identifier, Node, type PropertyAccessExpression } from 'ts-morph'
import type { FileRewrite } from './file-rewrite.ts'
import { type ContextParameter, chooseContextName, type Handlers } from './handlers.ts'
import {
  dropCatch,
  rewriteElicit,
  rewriteNotification,
  rewriteSample,
  rewriteServerRequest,
  writeProgress,
} from './requests.ts'
import { reportSession, sessionStub } from './session.ts'
import {
  classOf,
  functionOf,
  hasSpread,
  isFunction,
  propertyValue,
  referencesOf,
  stringOf,
  withoutCasts,
} from './syntax.ts'

/** Members of old contexts that only have another name in Tenon. */
const renamed: Readonly<Record<string, string>> = {
  signal: 'signal',
  requestId: 'requestId',
  sessionId: 'sessionId',
  authInfo: 'auth',
  _meta: 'meta',
  requestInfo: 'request',
  closeSSEStream: 'closeStream',
  closeStandaloneSSEStream: 'closeListeningStream',
  // v2
  'mcpReq.id': 'requestId',
  'mcpReq.signal': 'signal',
  'mcpReq._meta': 'meta',
  'mcpReq.inputResponses': 'inputResponses',
  'http.authInfo': 'auth',
  'http.req': 'request',
  'http.closeSSE': 'closeStream',
  'http.closeStandaloneSSE': 'closeListeningStream',
}

const contextClasses = new Set(['V1Extra', 'V2Context', 'FastContext'])

/** Rewrites everything that programs do with the second parameter of handlers: `extra`, `ctx` of v2, the context of FastMCP. */
export function rewriteContexts(rewrites: ReadonlyMap<string, FileRewrite>, handlers: Handlers): void {
  const queue: ContextParameter[] = handlers.contextParameters
  for (const rewrite of rewrites.values()) queue.push(...annotatedContexts(rewrite))
  const done = new Set<Node>()
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (done.has(next.parameter)) continue
    done.add(next.parameter)
    queue.push(...rewriteParameter(next, rewrites))
  }
}

/** Parameters of helper functions whose type says that they are contexts. */
function annotatedContexts(rewrite: FileRewrite): ContextParameter[] {
  return rewrite.file
    .getDescendants()
    .filter(Node.isParameterDeclaration)
    .flatMap((parameter) => {
      const fn = parameter.getParent()
      const annotation = parameter.getTypeNode()
      if (!annotation || !isFunction(fn) || !contextClasses.has(classOf(parameter) ?? '')) return []
      const isFast = classOf(parameter) === 'FastContext'
      return [{ rewrite, parameter, name: chooseContextName(fn, parameter), isFast }]
    })
}

/** Rewrites one parameter, and returns the parameters that it is passed on to. */
function rewriteParameter(context: ContextParameter, rewrites: ReadonlyMap<string, FileRewrite>): ContextParameter[] {
  const { rewrite, parameter, name } = context
  const nameNode = parameter.getNameNode()
  if (Node.isObjectBindingPattern(nameNode)) {
    const elements = nameNode.getElements()
    const hidden = context.isFast ? elements.find(mayHideSession) : undefined
    if (hidden) {
      reportSession(rewrite, hidden)
      if (context.onSession) context.onSession()
      else for (const name of boundNames(hidden)) stubUses(rewrite, name, parameter.getParent())
      return []
    }
    if (elements.every(isSimpleElement)) for (const element of elements) renameElement(rewrite, element)
    else rewritePattern(context, elements)
    return []
  }
  if (!Node.isIdentifier(nameNode)) return []
  const fn = parameter.getParent()
  if (nameNode.getText() !== name) rewrite.replace(nameNode, name)
  const passedOn: ContextParameter[] = []
  for (const reference of referencesOf(nameNode, fn)) {
    const parent = reference.getParent()
    const passed = Node.isCallExpression(parent) ? calledWith(parent, reference, context, rewrites) : []
    if (context.isFast && passed.length === 0 && mayReadSession(reference)) {
      keepSession(context, reference)
      continue
    }
    if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === reference) {
      rewriteMember(rewrite, parent, parent.getName(), `${name}${parent.hasQuestionDotToken() ? '?' : ''}`)
      continue
    }
    if (Node.isVariableDeclaration(parent) && Node.isObjectBindingPattern(parent.getNameNode())) {
      for (const element of parent.getNameNode().getDescendants().filter(Node.isBindingElement))
        renameOrReport(rewrite, element)
    }
    passedOn.push(...passed)
    if (reference.getText() !== name) rewrite.rename(reference, name)
  }
  return passedOn
}

/** Finds the parameter of a function of the program that gets the context. */
function calledWith(
  call: Node,
  argument: Identifier,
  { isFast, onSession }: ContextParameter,
  rewrites: ReadonlyMap<string, FileRewrite>,
): ContextParameter[] {
  if (!Node.isCallExpression(call)) return []
  const fn = functionOf(call.getExpression())
  const index = call.getArguments().indexOf(argument)
  const parameter = index === -1 ? undefined : fn?.getParameters()[index]
  const rewrite = fn && rewrites.get(fn.getSourceFile().getFilePath())
  if (!fn || !parameter || !rewrite) return []
  const annotation = parameter.getTypeNode()
  if (annotation && !contextClasses.has(classOf(parameter) ?? '')) return []
  return [{ rewrite, parameter, name: chooseContextName(fn, parameter), isFast, onSession }]
}

/** Whether a use of a FastMCP context reads the session, or may do so elsewhere: `const { session } = context`, `f(context)`. */
function mayReadSession(reference: Identifier): boolean {
  const parent = reference.getParent()
  if (Node.isPropertyAccessExpression(parent)) return parent.getName() === 'session'
  if (Node.isElementAccessExpression(parent)) {
    const member = stringOf(parent.getArgumentExpression())
    return member === undefined || member === 'session'
  }
  const pattern = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined
  if (!Node.isObjectBindingPattern(pattern)) return true
  return pattern.getElements().some((element) => {
    const member = element.getPropertyNameNode() ?? element.getNameNode()
    const isPlain = Node.isIdentifier(member) && !element.getDotDotDotToken()
    return !isPlain || member.getText() === 'session'
  })
}

/** Whether the session may be in an element of a pattern without a name of its own: `...rest`, `session: { role }`. */
function mayHideSession(element: BindingElement): boolean {
  const member = element.getPropertyNameNode()
  if (element.getDotDotDotToken() || (member && !Node.isIdentifier(member))) return true
  return member?.getText() === 'session' && !Node.isIdentifier(element.getNameNode())
}

function boundNames(element: BindingElement): Identifier[] {
  return [element, ...element.getDescendants().filter(Node.isBindingElement)]
    .map((inner) => inner.getNameNode())
    .filter(Node.isIdentifier)
}

function stubUses(rewrite: FileRewrite, name: Identifier, within: Node): void {
  for (const use of referencesOf(name, within)) rewrite.rename(use, `${sessionStub}(${name.getText()})`)
}

/** Keeps a check of the session closed. Tenon has no session, so a check that refuses some callers would let everyone pass. */
function keepSession({ rewrite, name, onSession }: ContextParameter, reference: Identifier): void {
  const parent = reference.getParent()
  reportSession(rewrite, parent && !Node.isBlock(parent) ? parent : reference)
  onSession?.()
  rewrite.rename(reference, onSession ? name : `${sessionStub}(${name})`)
}

function isSimpleElement(element: BindingElement): boolean {
  const member = (element.getPropertyNameNode() ?? element.getNameNode()).getText()
  return Object.hasOwn(renamed, member) && !element.getDotDotDotToken()
}

function renameElement(rewrite: FileRewrite, element: BindingElement): void {
  const property = element.getPropertyNameNode()
  const member = (property ?? element.getNameNode()).getText()
  const to = renamed[member]!
  if (to === member) return
  if (property) rewrite.replace(property, to)
  else rewrite.text.appendLeft(element.getNameNode().getStart(), `${to}: `)
}

function renameOrReport(rewrite: FileRewrite, element: BindingElement): void {
  if (!Node.isObjectBindingPattern(element.getParent())) return
  if (isSimpleElement(element)) return renameElement(rewrite, element)
  rewrite.report(
    element,
    element.getText(),
    'The context of Tenon has no member with this name.',
    'Use the members of ctx instead: docs/servers.md lists them.',
  )
}

/** Replaces a pattern such as `{ log, session }` with `ctx`, and each of its names with the member. */
function rewritePattern(context: ContextParameter, elements: readonly BindingElement[]): void {
  const { rewrite, parameter, name } = context
  const pattern = parameter.getNameNode()
  const fn = parameter.getParent()
  for (const element of elements) {
    const bound = element.getNameNode()
    const member = (element.getPropertyNameNode() ?? bound).getText()
    if (!Node.isIdentifier(bound) || element.getDotDotDotToken()) {
      renameOrReport(rewrite, element)
      continue
    }
    if (context.isFast && member === 'session') {
      reportSession(rewrite, element)
      context.onSession?.()
      const session = `${context.onSession ? name : `${sessionStub}(${name})`}.session`
      for (const reference of referencesOf(bound, fn)) rewrite.rename(reference, session)
      continue
    }
    for (const reference of referencesOf(bound, fn)) rewriteMember(rewrite, reference, member, name)
  }
  rewrite.replace(pattern, name)
}

/**
 * Rewrites the use of one member of a context.
 * @param use `extra.signal`, or the name that a pattern gave to the member.
 * @param ctx The text in front of the dot.
 */
function rewriteMember(
  rewrite: FileRewrite,
  use: PropertyAccessExpression | Identifier,
  member: string,
  ctx: string,
): void {
  const parent = use.getParent()
  if (member === 'mcpReq' || member === 'http') {
    if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === use)
      return rewriteMember(rewrite, parent, `${member}.${parent.getName()}`, ctx)
  }
  if (member === 'log' && Node.isPropertyAccessExpression(parent) && parent.getExpression() === use)
    return rewriteFastLog(rewrite, parent, ctx)
  if (member === 'client' && Node.isPropertyAccessExpression(parent) && parent.getName() === 'version')
    return rewrite.replace(parent, `${ctx}.caller.clientInfo`)
  if (Object.hasOwn(renamed, member)) {
    writeUse(rewrite, use, `${ctx}.${renamed[member]}`)
    if (renamed[member] === 'auth') reportAuth(rewrite, use)
    if (member === 'http.req') reportRequest(rewrite, use)
    return
  }
  const call = Node.isCallExpression(parent) && parent.getExpression() === use ? parent : undefined
  if (member === 'mcpReq.log' && !call) return writeUse(rewrite, use, leveledLog(rewrite, ctx))
  const calls: Readonly<Record<string, () => void>> = {
    sendNotification: () => rewriteNotification(rewrite, call!, ctx),
    sendRequest: () => rewriteServerRequest(rewrite, call!, ctx),
    'mcpReq.notify': () => rewriteNotification(rewrite, call!, ctx),
    'mcpReq.send': () => rewriteServerRequest(rewrite, call!, ctx),
    'mcpReq.elicitInput': () => rewriteElicit(rewrite, call!, ctx),
    'mcpReq.requestSampling': () => rewriteSample(rewrite, call!, ctx),
    'mcpReq.log': () => rewriteLeveledLog(rewrite, call!, ctx),
    'mcpReq.requestState': () => rewrite.replace(call!, `${ctx}.requestState`),
    elicit: () => rewriteElicit(rewrite, call!, ctx),
    reportProgress: () => rewriteReportProgress(rewrite, call!, ctx),
  }
  if (call && Object.hasOwn(calls, member)) return calls[member]!()
  reportMember(rewrite, use, member)
}

function writeUse(rewrite: FileRewrite, use: PropertyAccessExpression | Identifier, text: string): void {
  if (Node.isIdentifier(use)) rewrite.rename(use, text)
  else rewrite.replace(use, text)
}

/** `ctx.mcpReq.log(level, data, logger)` of v2. */
function rewriteLeveledLog(rewrite: FileRewrite, call: Node, ctx: string): void {
  if (!Node.isCallExpression(call)) return
  const [level, data] = call.getArguments()
  if (!level || !data) return
  dropCatch(rewrite, call)
  const known = stringOf(level)
  rewrite.replaceRange(
    call.getExpression().getStart(),
    data.getStart(),
    `${known === undefined ? `${ctx}.log[${level.getText()}]` : `${ctx}.log.${known}`}(`,
  )
}

/** `ctx.mcpReq.log` of v2 as a value: a function that gets the level and returns a promise. */
function leveledLog(rewrite: FileRewrite, ctx: string): string {
  const body = `${ctx.replace('?', '')}.log[level](data, logger)`
  if (!rewrite.isTypeScript) return `async (level, data, logger) => ${body}`
  const level = rewrite.need({ from: 'tenon', name: 'LoggingLevel', isType: true })
  return `async (level: ${level}, data: unknown, logger?: string) => ${body}`
}

/** `log.warn(message, data)` of FastMCP. */
function rewriteFastLog(rewrite: FileRewrite, method: PropertyAccessExpression, ctx: string): void {
  const level = method.getName() === 'warn' ? 'warning' : method.getName()
  rewrite.replace(method, `${ctx}.log.${level}`)
  const call = method.getParent()
  const [message, data] = Node.isCallExpression(call) ? call.getArguments() : []
  if (!message || !data) return
  rewrite.text.appendLeft(message.getStart(), '{ message: ')
  rewrite.replaceRange(message.getEnd(), data.getStart(), ', context: ')
  rewrite.text.appendLeft(data.getEnd(), ' }')
}

/** `reportProgress({ progress, total })` of FastMCP. */
function rewriteReportProgress(rewrite: FileRewrite, call: Node, ctx: string): void {
  if (!Node.isCallExpression(call)) return
  const [first] = call.getArguments()
  const params = first && withoutCasts(first)
  const progress =
    Node.isObjectLiteralExpression(params) && !hasSpread(params) ? propertyValue(params, 'progress') : undefined
  if (!progress || !Node.isObjectLiteralExpression(params)) {
    rewrite.report(
      call,
      call.getText(),
      'The progress is not written out here.',
      'Call ctx.progress(progress, { total, message }).',
    )
    return
  }
  rewrite.replace(call.getExpression(), `${ctx}.progress`)
  writeProgress(rewrite, params, params, progress)
}

function reportAuth(rewrite: FileRewrite, use: Node): void {
  rewrite.report(
    use,
    use.getText(),
    'ctx.auth has no token: it has issuer, subject, clientId, scopes, expiresAt, resource and claims.',
    'Check which members you read. "extra" is "claims" in Tenon.',
  )
}

function reportRequest(rewrite: FileRewrite, use: Node): void {
  rewrite.report(
    use,
    use.getText(),
    'ctx.request has url and headers, but is not a Request of the web platform.',
    "Read headers with ctx.request.header('name').",
  )
}

const memberHints: Readonly<Record<string, string>> = {
  taskStore: 'Pass tasks() of tenon/tasks to the server, and use ctx.task.',
  taskId: 'Use ctx.task.',
  taskRequestedTtl: 'Use ctx.task.',
  streamContent: 'Use ctx.progress(progress, { message }), or return everything at the end.',
  client: 'Use ctx.caller.clientInfo.',
  'mcpReq.envelope': 'Use ctx.caller: revision, clientInfo, capabilities and logLevel.',
  'mcpReq.method': 'Write the method.',
}

function reportMember(rewrite: FileRewrite, use: Node, member: string): void {
  rewrite.report(
    use,
    use.getText(),
    `The context of Tenon has no "${member}".`,
    memberHints[member] ?? 'docs/servers.md lists the members of ctx.',
  )
}
