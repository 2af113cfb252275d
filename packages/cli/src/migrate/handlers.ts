import { Node, type ParameterDeclaration, ts } from 'ts-morph'
import type { FileRewrite } from './file-rewrite.ts'
import { type FunctionNode, identifiersIn, isFunction } from './syntax.ts'

/** A function that serves a request, and where its context is. */
interface Handler {
  readonly rewrite: FileRewrite
  readonly fn: FunctionNode
  /** The position of the context among the parameters as they are written. */
  readonly ctxIndex: number
  /** Names for parameters in front of the context that the function does not have. */
  readonly placeholders: readonly string[]
  /** Names of parameters to insert before all others, because the handlers of the old package do not have them. */
  readonly inserted: readonly string[]
  /** Mark the places where the function is registered. */
  readonly sessionMarks: (() => void)[]
  isContextNeeded: boolean
  name: string
}

/** What a rule knows about a handler. */
export interface HandlerShape {
  readonly ctxIndex: number
  readonly placeholders: readonly string[]
  readonly inserted?: readonly string[]
  /** Called if the handler may read `session` of a FastMCP context. */
  readonly onSession?: () => void
}

/** A parameter that is the context of an old package. */
export interface ContextParameter {
  readonly rewrite: FileRewrite
  readonly parameter: ParameterDeclaration
  /** The name that it gets. */
  readonly name: string
  /** Whether it is a context of FastMCP, which has the session. */
  readonly isFast: boolean
  /** Marks the handler that reads the session. Undefined in functions whose callers are not known. */
  readonly onSession?: (() => void) | undefined
}

/** The handlers of all files. Their parameters are changed at the end, when it is known which of them need a context. */
export class Handlers {
  readonly #all = new Map<Node, Handler>()
  readonly #notifications = new Map<Node, { rewrite: FileRewrite; isLinkNeeded: boolean }>()

  /** Adds a handler. */
  add(rewrite: FileRewrite, fn: FunctionNode, shape: HandlerShape): void {
    const { ctxIndex, placeholders, inserted = [], onSession } = shape
    const sessionMarks = onSession ? [onSession] : []
    const known = this.#all.get(fn)
    if (known) {
      known.sessionMarks.push(...sessionMarks)
      return
    }
    const name = chooseContextName(fn, fn.getParameters()[ctxIndex])
    this.#all.set(fn, { rewrite, fn, ctxIndex, placeholders, inserted, sessionMarks, isContextNeeded: false, name })
  }

  /** All parameters that are contexts. */
  get contextParameters(): ContextParameter[] {
    return [...this.#all.values()].flatMap(({ rewrite, fn, ctxIndex, name, sessionMarks }) => {
      const parameter = fn.getParameters()[ctxIndex]
      const isFast = sessionMarks.length > 0
      const onSession = () => {
        for (const mark of sessionMarks) mark()
      }
      return parameter ? [{ rewrite, parameter, name, isFast, onSession: isFast ? onSession : undefined }] : []
    })
  }

  /** Returns the name of the context for code at a node, or undefined outside of handlers. The handler gets a context if it has none. */
  contextAt(node: Node): string | undefined {
    for (const ancestor of node.getAncestors()) {
      const handler = isFunction(ancestor) ? this.#all.get(ancestor) : undefined
      if (!handler) continue
      handler.isContextNeeded = true
      return handler.name
    }
    return undefined
  }

  /** Whether a node is inside of a handler. */
  has(node: Node): boolean {
    return node.getAncestors().some((ancestor) => this.#all.has(ancestor))
  }

  /** Adds the handler of a notification, whose second parameter says where the notification came from. */
  addNotification(rewrite: FileRewrite, fn: FunctionNode): void {
    if (fn.getParameters().length < 2) this.#notifications.set(fn, { rewrite, isLinkNeeded: false })
  }

  /** Returns the name of the link for code in the handler of a notification. */
  linkAt(node: Node): string | undefined {
    for (const ancestor of node.getAncestors()) {
      const handler = this.#notifications.get(ancestor)
      if (!handler) continue
      handler.isLinkNeeded = true
      return 'link'
    }
    return undefined
  }

  /** Writes the parameters. */
  finish(): void {
    for (const [fn, { rewrite, isLinkNeeded }] of this.#notifications) {
      if (!isLinkNeeded || !isFunction(fn)) continue
      const shape = { ctxIndex: 1, placeholders: ['_params'], inserted: [], sessionMarks: [] }
      writeParameters({ rewrite, fn, ...shape, isContextNeeded: true, name: '{ link }' })
    }
    for (const handler of this.#all.values()) writeParameters(handler)
  }
}

/** Returns the name for a context: `ctx`, if nothing else has this name. */
export function chooseContextName(fn: FunctionNode, parameter: ParameterDeclaration | undefined): string {
  const own = parameter?.getNameNode()
  const ownName = Node.isIdentifier(own) ? own.getText() : undefined
  if (ownName?.startsWith('_')) return ownName
  const taken = new Set(identifiersIn(fn).map((name) => name.getText()))
  if (ownName === 'ctx' || !taken.has('ctx')) return 'ctx'
  return ownName ?? (taken.has('context') ? 'mcpContext' : 'context')
}

function writeParameters({ rewrite, fn, ctxIndex, placeholders, inserted, isContextNeeded, name }: Handler): void {
  const parameters = fn.getParameters()
  const hasContext = parameters.length > ctxIndex
  const addsContext = isContextNeeded && !hasContext
  const before = addsContext || parameters.length > 0 ? inserted : []
  const after = addsContext ? [...placeholders.slice(parameters.length), name] : []
  if (before.length === 0 && after.length === 0) return
  const [first] = parameters
  const last = parameters.at(-1)
  const open = fn.getFirstChildByKind(ts.SyntaxKind.OpenParenToken)
  if (!first || !last) {
    if (open) rewrite.text.appendLeft(open.getEnd(), [...before, ...after].join(', '))
    return
  }
  const needsParentheses = !open
  if (before.length > 0 || needsParentheses)
    rewrite.text.prependRight(
      first.getStart(),
      `${needsParentheses ? '(' : ''}${before.map((text) => `${text}, `).join('')}`,
    )
  if (after.length > 0 || needsParentheses)
    rewrite.text.appendLeft(last.getEnd(), `${after.map((text) => `, ${text}`).join('')}${needsParentheses ? ')' : ''}`)
}
