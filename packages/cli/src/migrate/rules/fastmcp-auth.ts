import { Node } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import { type FunctionNode, functionOf, identifiersIn } from '../syntax.ts'

// FastMCP passes the result of authenticate() to functions. In the same place, Tenon passes something else that is always
// true in a condition, so a check would let everyone pass. Such functions stay as arguments of a function that does not exist.

const authStub = 'REPLACE_auth_WITH_ctx_auth'

/** Whether a function may get the parameter at an index: it declares it, reads all of them, or is not known. */
export function takesParameter(value: Node, index: number): boolean {
  const fn = functionBehind(value)
  if (!fn) return true
  return fn.getParameters().length > index || readsAllParameters(fn)
}

/** Whether a function has a rest parameter, or uses `arguments`. */
export function readsAllParameters(fn: FunctionNode): boolean {
  if (fn.getParameters().some((parameter) => parameter.isRestParameter())) return true
  return !Node.isArrowFunction(fn) && identifiersIn(fn).some((name) => name.getText() === 'arguments')
}

/** Returns the function that an expression is, that a name refers to, or that a member has. */
export function functionBehind(value: Node): FunctionNode | undefined {
  const fn = functionOf(value)
  if (fn) return Node.isFunctionDeclaration(fn) ? (fn.getImplementation() ?? fn) : fn
  if (!Node.isPropertyAccessExpression(value)) return undefined
  const member = value.getNameNode().getSymbol()?.getDeclarations()[0]
  if (Node.isPropertyAssignment(member) || Node.isPropertyDeclaration(member))
    return functionOf(member.getInitializer())
  return Node.isMethodDeclaration(member) && member.getBody() ? member : undefined
}

/** Keeps a `load` that gets the identity, so that the program neither compiles nor runs. */
export function keepLoad(
  rewrite: FileRewrite,
  load: Node,
  { authIndex, before, after }: { authIndex: number; before: string; after: string },
): void {
  reportAuthParameter(rewrite, load, authIndex)
  rewrite.text.prependRight(load.getStart(), `${authStub}(${before}(`)
  rewrite.text.appendLeft(load.getEnd(), `)${after})`)
}

/** Returns the text of a completer, which FastMCP calls with the value and the identity. */
export function completerText(rewrite: FileRewrite, completer: Node): string {
  const copied = rewrite.copy(completer)
  const text = Node.isMethodDeclaration(completer) ? methodAsFunction(copied) : copied
  if (!takesParameter(completer, 1)) return text
  reportAuthParameter(rewrite, completer, 1)
  return `${authStub}(${text})`
}

/** `async complete(value) { ... }` becomes `async function complete(value) { ... }`. */
function methodAsFunction(text: string): string {
  return text.replace(/^(async\s+)?/, (prefix) => `${prefix}function `)
}

function reportAuthParameter(rewrite: FileRewrite, value: Node, index: number): void {
  const parameter = functionOf(value) === value ? functionOf(value)?.getParameters()[index] : undefined
  const shown = parameter ?? value
  rewrite.report(
    shown,
    shown.getText().split('\n')[0]!,
    `FastMCP passes the identity of the caller to this function. It may decide who gets an answer, so the program does not compile until you rewrite it.`,
    `Use ctx.auth (docs/auth-servers.md) and remove ${authStub}.`,
  )
}
