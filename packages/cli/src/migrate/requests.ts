// Rewrites of calls that take a message, `send({ method, params })`, into calls of the context.
import { type CallExpression, Node, type ObjectLiteralExpression } from 'ts-morph'
import type { FileRewrite } from './file-rewrite.ts'
import { hasSpread, keysOf, objectOf, propertyValue, stringOf, withoutCasts } from './syntax.ts'

/** Rewrites `send({ method, params })` into `ctx.notify(method, params)`, or into the shorter form for logs and progress. */
export function rewriteNotification(rewrite: FileRewrite, call: CallExpression, ctx: string): void {
  const callee = call.getExpression()
  const argument = call.getArguments()[0] && withoutCasts(call.getArguments()[0]!)
  if (!Node.isObjectLiteralExpression(argument) || hasSpread(argument)) {
    if (!Node.isIdentifier(argument)) return reportMessage(rewrite, call)
    rewrite.replace(callee, `${ctx}.notify`)
    const name = argument.getText()
    rewrite.replace(argument, `${name}.method, ${name}.params`)
    return
  }
  const params = propertyValue(argument, 'params')
  const method = stringOf(propertyValue(argument, 'method'))
  const given = params && withoutCasts(params)
  if (Node.isObjectLiteralExpression(given) && !hasSpread(given)) {
    if (method === 'notifications/progress' && rewriteProgress(rewrite, call, argument, given, ctx)) return
    if (method === 'notifications/message' && rewriteLog(rewrite, call, argument, given, ctx)) return
  }
  const methodNode = propertyValue(argument, 'method')
  if (!methodNode) return reportMessage(rewrite, call)
  rewrite.replace(callee, `${ctx}.notify`)
  dropFurtherArguments(rewrite, call)
  rewrite.spreadArgument(argument, params ? [methodNode, params] : [methodNode])
}

/** Rewrites the params of a log message into `ctx.log.info(data, logger)`. */
export function rewriteLogParams(rewrite: FileRewrite, call: CallExpression, ctx: string): boolean {
  const argument = call.getArguments()[0] && withoutCasts(call.getArguments()[0]!)
  if (!Node.isObjectLiteralExpression(argument) || hasSpread(argument)) return false
  return rewriteLog(rewrite, call, argument, argument, ctx)
}

function rewriteLog(
  rewrite: FileRewrite,
  call: CallExpression,
  argument: ObjectLiteralExpression,
  params: ObjectLiteralExpression,
  ctx: string,
): boolean {
  const level = propertyValue(params, 'level')
  const data = propertyValue(params, 'data')
  const logger = propertyValue(params, 'logger')
  if (!level || !data || keysOf(params).some((key) => !['level', 'data', 'logger', '_meta'].includes(key))) return false
  const known = stringOf(level)
  if (known === undefined && !Node.isIdentifier(level)) return false
  rewrite.replace(call.getExpression(), known === undefined ? `${ctx}.log[${level.getText()}]` : `${ctx}.log.${known}`)
  dropFurtherArguments(rewrite, call)
  rewrite.spreadArgument(argument, logger ? [data, logger] : [data])
  return true
}

function rewriteProgress(
  rewrite: FileRewrite,
  call: CallExpression,
  argument: ObjectLiteralExpression,
  params: ObjectLiteralExpression,
  ctx: string,
): boolean {
  const progress = propertyValue(params, 'progress')
  if (!progress) return false
  rewrite.replace(call.getExpression(), `${ctx}.progress`)
  dropFurtherArguments(rewrite, call)
  writeProgress(rewrite, argument, params, progress)
  return true
}

/** Writes `progress, { total, message }` in place of an argument. */
export function writeProgress(
  rewrite: FileRewrite,
  argument: ObjectLiteralExpression,
  params: ObjectLiteralExpression,
  progress: Node,
): void {
  const details = keysOf(params).filter((key) => key === 'total' || key === 'message')
  const text = details.map((key) => {
    const value = propertyValue(params, key)!.getText()
    return value === key ? key : `${key}: ${value}`
  })
  rewrite.spreadArgument(argument, text.length > 0 ? [progress, `{ ${text.join(', ')} }`] : [progress])
}

/** Rewrites `elicitInput({ message, requestedSchema })` into `ctx.elicit(message, schema)`. */
export function rewriteElicit(rewrite: FileRewrite, call: CallExpression, ctx: string): void {
  const [first] = call.getArguments()
  const argument = first && withoutCasts(first)
  rewriteRequestOptions(rewrite, call.getArguments()[1])
  const callee = call.getExpression()
  if (!Node.isObjectLiteralExpression(argument) || hasSpread(argument)) {
    if (!Node.isIdentifier(argument)) return reportMessage(rewrite, call)
    rewrite.replace(callee, `${ctx}.elicit`)
    rewrite.replace(first!, `${argument.getText()}.message, ${argument.getText()}.requestedSchema`)
    return
  }
  rewriteElicitParams(rewrite, call, argument, argument, ctx)
}

function rewriteElicitParams(
  rewrite: FileRewrite,
  call: CallExpression,
  argument: ObjectLiteralExpression,
  params: ObjectLiteralExpression,
  ctx: string,
): void {
  const message = propertyValue(params, 'message')
  const schema = propertyValue(params, 'requestedSchema')
  const url = propertyValue(params, 'url')
  if (!message || !(schema ?? url)) return reportMessage(rewrite, call)
  rewrite.replace(call.getExpression(), `${ctx}.${url ? 'elicitUrl' : 'elicit'}`)
  if (!url) return rewrite.spreadArgument(argument, [message, schema!])
  const id = propertyValue(params, 'elicitationId')
  const options = id && (id.getText() === 'elicitationId' ? '{ elicitationId }' : `{ elicitationId: ${id.getText()} }`)
  rewrite.spreadArgument(argument, options ? [message, url, options] : [message, url])
}

/** Rewrites `createMessage(params)` into `ctx.sample(params)`. */
export function rewriteSample(rewrite: FileRewrite, call: CallExpression, ctx: string): void {
  rewriteRequestOptions(rewrite, call.getArguments()[1])
  rewrite.replace(call.getExpression(), `${ctx}.sample`)
}

/** Rewrites `listRoots()`, whose result is `{ roots }`, into `ctx.roots()`, which resolves with the list. */
export function rewriteRoots(rewrite: FileRewrite, call: CallExpression, ctx: string): void {
  const roots = `await ${ctx}.roots()`
  const awaited = call.getParent()
  if (!Node.isAwaitExpression(awaited)) {
    rewrite.report(
      call,
      call.getText(),
      'ctx.roots() resolves with the list of roots, not with { roots }.',
      `Write ctx.roots() and use the list.`,
    )
    return
  }
  const parent = awaited.getParent()
  if (Node.isVariableDeclaration(parent)) {
    const pattern = parent.getNameNode()
    const [element, ...others] = Node.isObjectBindingPattern(pattern) ? pattern.getElements() : []
    if (
      element &&
      others.length === 0 &&
      (element.getPropertyNameNode() ?? element.getNameNode()).getText() === 'roots'
    ) {
      rewrite.replace(pattern, element.getNameNode().getText())
      rewrite.replace(awaited, roots)
      return
    }
  }
  const access = Node.isParenthesizedExpression(parent) ? parent.getParent() : undefined
  if (Node.isPropertyAccessExpression(access) && access.getName() === 'roots') {
    rewrite.replace(access, access.getParent() && Node.isVariableDeclaration(access.getParent()) ? roots : `(${roots})`)
    return
  }
  rewrite.replace(awaited, `{ roots: ${roots} }`)
}

/** Rewrites `sendRequest({ method, params }, schema, options)` into the call of the context for this method. */
export function rewriteServerRequest(rewrite: FileRewrite, call: CallExpression, ctx: string): void {
  const [first, schema, options] = call.getArguments()
  if (!first) return
  const argument = withoutCasts(first)
  const literal = Node.isObjectLiteralExpression(argument) && !hasSpread(argument) ? argument : undefined
  const message = literal ?? objectOf(argument)
  const method = message && stringOf(propertyValue(message, 'method'))
  const params = message && propertyValue(message, 'params')
  if (method === 'roots/list') return rewriteRoots(rewrite, call, ctx)
  rewriteRequestOptions(rewrite, options)
  if (schema) rewrite.replaceRange(first.getEnd(), schema.getEnd(), '')
  if (method === 'sampling/createMessage' && params && !hasTask(params)) {
    rewrite.replace(call.getExpression(), `${ctx}.sample`)
    if (literal) rewrite.spreadArgument(literal, [params])
    else rewrite.replace(first, `${argument.getText()}.params`)
    return
  }
  const given = params && withoutCasts(params)
  if (method === 'elicitation/create' && literal && Node.isObjectLiteralExpression(given) && !hasSpread(given)) {
    return rewriteElicitParams(rewrite, call, literal, given, ctx)
  }
  rewrite.replace(call.getExpression(), `${ctx}.ask`)
  castResult(rewrite, call, resultType(method, schema))
  if (!message || method === undefined || (params && hasTask(params))) {
    rewrite.report(
      call,
      call.getText().split('\n')[0]!,
      'ctx.ask sends only elicitation/create, sampling/createMessage and roots/list.',
      'Check the method. Pass { task } as an option of ctx.elicit or ctx.sample to have the client answer as a task.',
    )
  }
}

function hasTask(params: Node): boolean {
  const object = objectOf(params)
  return object !== undefined && keysOf(object).includes('task')
}

/** The type of the result, from the schema that was passed or from the method. */
export function resultType(method: string | undefined, schema?: Node): string | undefined {
  const [, named] = /^(CreateMessage|Elicit|ListRoots)Result(?:WithTools)?Schema$/.exec(schema?.getText() ?? '') ?? []
  const byMethod: Readonly<Record<string, string>> = {
    'sampling/createMessage': 'CreateMessage',
    'elicitation/create': 'Elicit',
    'roots/list': 'ListRoots',
  }
  const noun = named ?? (method === undefined ? undefined : byMethod[method])
  return noun && `${noun}Result`
}

/** Adds the type of a result, which is a plain object otherwise. */
export function castResult(rewrite: FileRewrite, call: CallExpression, type: string | undefined): void {
  if (!rewrite.isTypeScript || type === undefined) return
  const local = rewrite.need({ from: 'tenon', name: type, isType: true }, rewrite.names.has(type) ? type : undefined)
  const awaited = call.getParent()
  if (!Node.isAwaitExpression(awaited)) return
  rewrite.text.appendLeft(awaited.getStart(), '(')
  rewrite.text.appendRight(awaited.getEnd(), `) as unknown as ${local}`)
  if (Node.isPropertyAccessExpression(awaited.getParent()?.getParent())) {
    rewrite.text.appendLeft(awaited.getStart(), '(')
    rewrite.text.appendRight(awaited.getEnd(), ')')
  }
}

const renamedOptions: Readonly<Record<string, string>> = {
  timeout: 'timeoutMs',
  maxTotalTimeout: 'maxTotalTimeoutMs',
  onprogress: 'onProgress',
}
const keptOptions = new Set(['signal', 'resetTimeoutOnProgress', 'outputSchema'])

/** Renames the options of a request: `timeout` is `timeoutMs` in Tenon. */
export function rewriteRequestOptions(rewrite: FileRewrite, options: Node | undefined): void {
  if (!options || options.getText() === 'undefined') return
  const object = withoutCasts(options)
  if (!Node.isObjectLiteralExpression(object)) {
    rewrite.report(
      options,
      options.getText(),
      'The options of a request have other names in Tenon.',
      'Rename timeout to timeoutMs, maxTotalTimeout to maxTotalTimeoutMs and onprogress to onProgress.',
    )
    return
  }
  for (const property of object.getProperties()) {
    if (Node.isSpreadAssignment(property)) continue
    const name = property.getName()
    const renamed = Object.hasOwn(renamedOptions, name) ? renamedOptions[name] : undefined
    if (renamed !== undefined) {
      const nameNode = property.getNameNode()
      rewrite.replace(nameNode, Node.isShorthandPropertyAssignment(property) ? `${renamed}: ${name}` : renamed)
    } else if (!keptOptions.has(name)) {
      rewrite.report(
        property,
        property.getText().split('\n')[0]!,
        `Requests of Tenon have no option "${name}".`,
        'Remove it. docs/clients.md lists the options.',
      )
    }
  }
}

/** Notifications of Tenon are sent without waiting, so there is no promise to handle. */
export function dropCatch(rewrite: FileRewrite, call: CallExpression): void {
  const access = call.getParent()
  const outer = access?.getParent()
  if (!Node.isPropertyAccessExpression(access) || access.getName() !== 'catch' || !Node.isCallExpression(outer)) return
  rewrite.replaceRange(call.getEnd(), outer.getEnd(), '')
  const parent = outer.getParent()
  if (Node.isExpressionStatement(parent) || Node.isAwaitExpression(parent)) return
  // lastSend = extra.sendNotification(...).catch(...)
  rewrite.text.appendLeft(outer.getStart(), 'Promise.resolve(')
  rewrite.text.appendRight(outer.getEnd(), ')')
}

function dropFurtherArguments(rewrite: FileRewrite, call: CallExpression): void {
  dropCatch(rewrite, call)
  const [first, ...rest] = call.getArguments()
  const last = rest.at(-1)
  if (first && last) rewrite.replaceRange(first.getEnd(), last.getEnd(), '')
}

function reportMessage(rewrite: FileRewrite, call: CallExpression): void {
  rewrite.report(
    call,
    call.getText().split('\n')[0]!,
    'The message is not written out here, so its members are not known.',
    'Call ctx.notify(method, params), ctx.elicit(message, schema), ctx.sample(params) or ctx.roots().',
  )
}
