import type { RevisionId } from '../protocol/revision.ts'
import { type Definition, existsIn, type Field, type MessageNode, parse, type TypeNode } from './language.ts'
import { messages as text } from './messages.ts'

/** A definition of one revision. Nothing in it depends on the revision any more. */
export interface Resolved {
  type: TypeNode
  doc?: string | undefined
  isBase?: boolean | undefined
}

/** What one revision has: its definitions by name, and its messages. */
export interface RevisionMessages {
  readonly definitions: ReadonlyMap<string, Resolved>
  readonly messages: readonly Message[]
}

/** A request or notification of one revision. `params` and `result` name definitions. */
export interface Message {
  readonly name: string
  readonly kind: 'request' | 'notification'
  /** `any`: either side may send it. */
  readonly from: 'client' | 'server' | 'any'
  readonly method: string
  readonly params: string
  readonly result?: string | undefined
}

const described = lazy(() => parse(text))
const resolved = new Map<RevisionId, RevisionMessages>()

/** The messages of a revision. */
export function messagesOf(revision: RevisionId): RevisionMessages {
  const kept = resolved.get(revision) ?? new Resolver(revision).all()
  resolved.set(revision, kept)
  return kept
}

class Resolver {
  readonly #revision: RevisionId
  readonly #raw = new Map<string, Definition>()
  readonly #messages: MessageNode[]
  readonly #definitions = new Map<string, Resolved>()

  constructor(revision: RevisionId) {
    this.#revision = revision
    const here = <T extends Definition | MessageNode>(list: T[]) => list.filter((each) => existsIn(each, revision))
    for (const definition of here(described().definitions)) this.#raw.set(definition.name, definition)
    this.#messages = here(described().messages)
  }

  all(): RevisionMessages {
    for (const { name, type, doc, isBase } of this.#raw.values())
      this.#definitions.set(name, { type: this.#resolve(type), doc, isBase })
    const messages = this.#messages.map((node) => this.#message(node))
    this.#unions(messages)
    return { definitions: this.#definitions, messages }
  }

  /** Defines a message, and since 2026-07-28 the response to it. */
  #message(node: MessageNode): Message {
    const { name, kind, from, method, doc } = node
    const stem = name.replace(/Request$/, '')
    const own = `${name}Params`
    const hasOwn = node.params === undefined && this.#raw.has(own)
    const shared = kind === 'request' ? 'RequestParams' : 'NotificationParams'
    const params = node.params ?? (hasOwn ? own : shared)
    const isOptional = node.paramsOptional ?? (!hasOwn && !this.#needs(named(params)))
    const result = kind === 'request' ? (node.result ?? `${stem}Result`) : undefined
    const isEmbedded = this.#raw.has('InputRequest') && from === 'server' && kind === 'request'
    const field = (key: string, type: TypeNode, optional = false): Field => ({ name: key, optional, type })
    // Before 2025-11-25 definitions of messages have no envelope, and questions of 2026-07-28 have none at all.
    const envelope = this.#revision >= '2025-11-25' && !isEmbedded
    const fields = [
      ...(envelope ? [field('jsonrpc', literal('2.0'))] : []),
      ...(envelope && kind === 'request' ? [field('id', named('RequestId'))] : []),
      field('method', literal(method)),
      field('params', named(params), isOptional),
    ]
    this.#definitions.set(name, { type: { kind: 'object', bases: [], fields }, doc })
    if (result !== undefined && from === 'client' && this.#raw.has('InputRequiredResult')) this.#response(stem, result)
    return { name, kind, from, method, params, result }
  }

  #response(stem: string, result: string): void {
    const canAsk = this.#fieldsOf(named(`${stem}RequestParams`)).some(({ name }) => name === 'inputResponses')
    const members = [named(result), ...(canAsk ? [named('InputRequiredResult')] : [])]
    const fields: Field[] = [
      { name: 'jsonrpc', optional: false, type: literal('2.0') },
      { name: 'id', optional: false, type: named('RequestId') },
      { name: 'result', optional: false, type: canAsk ? { kind: 'union', members } : named(result) },
    ]
    const doc = `The response to ${stem}Request.`
    this.#definitions.set(`${result}Response`, { type: { kind: 'object', bases: [], fields }, doc })
  }

  /** All messages of one side, and all results that it sends. */
  #unions(all: readonly Message[]): void {
    const union = (name: string, members: string[], doc: string) => {
      const unique = [...new Set(members)].map(named)
      if (unique.length > 0) this.#definitions.set(name, { type: { kind: 'union', members: unique }, doc })
    }
    for (const [side, other] of [
      ['client', 'server'],
      ['server', 'client'],
    ] as const) {
      const Side = side === 'client' ? 'Client' : 'Server'
      const sent = (kind: Message['kind'], by: string) =>
        all.filter((each) => each.kind === kind && (each.from === by || each.from === 'any'))
      const names = (list: Message[]) => list.map(({ name }) => name)
      const isAsked = side === 'client' && this.#raw.has('InputRequest')
      const requests = sent('request', side).filter(() => side === 'client' || !this.#raw.has('InputRequest'))
      union(`${Side}Request`, names(requests), `Any request of a ${side}.`)
      union(`${Side}Notification`, names(sent('notification', side)), `Any notification of a ${side}.`)
      const results = isAsked ? [] : sent('request', other).flatMap(({ result }) => result ?? [])
      union(`${Side}Result`, ['EmptyResult', ...results], `Any result of a ${side}.`)
    }
  }

  #resolve(type: TypeNode): TypeNode {
    switch (type.kind) {
      case 'object':
        return { kind: 'object', bases: [], fields: this.#fieldsOf(type) }
      case 'array':
        return { ...type, items: this.#resolve(type.items) }
      case 'map':
        return { kind: 'map', values: this.#resolve(type.values) }
      case 'union': {
        const members = type.members.filter((each) => each.kind !== 'name' || this.#has(each.name))
        const resolved = members.map((member) => this.#resolve(member))
        return resolved.length === 1 ? resolved[0]! : { kind: 'union', members: resolved }
      }
      default:
        return type
    }
  }

  /** Definitions and messages of this revision. */
  #has(name: string): boolean {
    return this.#raw.has(name) || this.#messages.some((message) => message.name === name)
  }

  /** The fields of an object with those of its bases. A field replaces one of a base. */
  #fieldsOf(type: TypeNode): Field[] {
    if (type.kind === 'name') {
      const definition = this.#raw.get(type.name)
      return definition ? this.#fieldsOf(definition.type) : []
    }
    if (type.kind !== 'object') return []
    const fields = new Map<string, Field>()
    for (const base of type.bases) for (const field of this.#fieldsOf(named(base))) fields.set(field.name, field)
    for (const { name, optional, type: own, doc, ...range } of type.fields) {
      if (!existsIn(range, this.#revision)) continue
      fields.set(name, { name, optional, type: this.#resolve(own), ...(doc !== undefined && { doc }) })
    }
    return [...fields.values()]
  }

  /** Whether a type refuses an empty object. */
  #needs(type: TypeNode): boolean {
    if (type.kind === 'name') return this.#needs(this.#raw.get(type.name)!.type)
    if (type.kind === 'object') return this.#fieldsOf(type).some(({ optional }) => !optional)
    return type.kind === 'union'
  }
}

const named = (name: string): TypeNode => ({ kind: 'name', name })
const literal = (value: string): TypeNode => ({ kind: 'literals', values: [value] })

function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
