import { type Fields, type Noun, type Nouns, parseType, splitDoc, type TypeNode } from './schema-language.ts'

/** The TypeScript types of all nouns, as the text of a module that does not import zod. */
export function typeModule(nouns: Nouns): string {
  const types = Object.entries(nouns).map(([name, noun]) => ({ name, noun, text: typeText(noun.type, nouns) }))
  const isUsed = (name: string) => types.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text))
  const lint = types.some(({ text }) => /\bany\b/.test(text)) ? ANY_IS_INTENDED : ''
  const texts = types
    .filter(({ name, noun }) => exported(noun) || isUsed(name))
    .map(({ name, noun, text }) => `${docComment(noun)}${exported(noun)}type ${name} = ${text}\n`)
  return lint + texts.join('\n')
}

const ANY_IS_INTENDED = '// biome-ignore-all lint/suspicious/noExplicitAny: the original types have it\n\n'

/** The types of messages in their JSON-RPC envelope, as they are sent. */
export function wireTypeModule(nouns: Nouns): string {
  const types = Object.entries(nouns).flatMap(([name, noun]) => {
    const text = wireType(name, noun, nouns)
    return text ? [`${docComment(noun)}export type ${name} = ${text}\n`] : []
  })
  return `import type * as types from './protocol-types.ts'

type RequestEnvelope = { jsonrpc: '2.0'; id: types.RequestId }
type NotificationEnvelope = { jsonrpc: '2.0' }

${types.join('\n')}`
}

function wireType(name: string, { type }: Noun, nouns: Nouns): string | undefined {
  const method = type.kind === 'object' ? type.fields.method : undefined
  if (method === undefined || name.startsWith('JSONRPC'))
    return isMessageUnion(type, nouns) ? typeText(type, nouns) : undefined
  if (name === 'Request' || name === 'Notification') return undefined
  const isNotification = typeof method === 'string' && method.startsWith("'notifications/")
  return `types.${name} & ${isNotification ? 'NotificationEnvelope' : 'RequestEnvelope'}`
}

function isMessageUnion(type: TypeNode, nouns: Nouns): boolean {
  const isMessage = (node: TypeNode) => node.kind === 'noun' && wireType(node.name, nouns[node.name]!, nouns)
  return type.kind === 'union' && type.members.every(isMessage)
}

/** A module that compiles only if every type is what its schema returns. */
export function typeChecksModule(name: string, nouns: Nouns): string {
  const checks = Object.entries(nouns)
    .filter(([, noun]) => (noun.exports ?? 'both') === 'both')
    .map(([name]) => `${name}: same<types.${name}, z.output<typeof schemas.${schemaName(name, nouns)}>>()`)
  return `import type * as z from 'zod/v4'
import type * as schemas from '../../src/generated/${name}-schemas.ts'
import type * as types from '../../src/generated/${name}-types.ts'

/** Compiles if each of the two types is assignable to the other. */
function same<A extends B, B extends C, C = A>(): [A, B, C] | undefined {
  return undefined
}

export const typeChecks = {\n${checks.join(',\n')}\n}\n`
}

/** The name of the schema of a noun. */
export function schemaName(name: string, nouns: Nouns): string {
  return nouns[name]?.schemaName ?? `${name}Schema`
}

/** The documentation of a noun as a comment. */
export function docComment(noun: Noun): string {
  return noun.deprecated ? `/**\n * ${noun.doc}\n *\n * @deprecated ${noun.deprecated}\n */\n` : `/** ${noun.doc} */\n`
}

function exported(noun: Noun): string {
  return noun.exports === 'schema' || noun.exports === 'none' ? '' : 'export '
}

function typeText(type: TypeNode, nouns: Nouns): string {
  switch (type.kind) {
    case 'leaf':
      return leafTypes[type.leaf]
    case 'literals':
      return type.values.map((value) => `'${value}'`).join(' | ')
    case 'noun':
      return type.name
    case 'array':
      return `(${typeText(type.items, nouns)})[]`
    case 'map':
      return `Record<string, ${typeText(type.values, nouns)}>`
    case 'union':
      return type.members.map((member) => typeText(member, nouns)).join(' | ')
    case 'object':
      return `{ ${type.unknownKeys === 'loose' ? '[key: string]: unknown\n' : ''}${members(type, nouns)} }`
    case 'default':
      return typeText(type.of, nouns)
    case 'code':
      return type.code.type
  }
}

const leafTypes = {
  string: 'string',
  number: 'number',
  integer: 'number',
  natural: 'number',
  fraction: 'number',
  boolean: 'boolean',
  null: 'null',
  unknown: 'unknown',
  object: 'object',
  base64: 'string',
  datetime: 'string',
  url: 'string',
  'file-url': 'string',
  any: 'any',
  numeric: 'number',
}

function members(type: TypeNode & { kind: 'object' }, nouns: Nouns): string {
  return Object.entries(allFields(type, nouns))
    .map(([key, value]) => {
      const { expression, doc } = typeof value === 'string' ? splitDoc(value) : { expression: value, doc: '' }
      const node = typeof expression === 'string' ? parseType(expression) : expression
      const optional = key.endsWith('?') || acceptsNothing(node, nouns)
      const text = typeText(node, nouns)
      const comment = doc && `/** ${doc} */\n`
      return `${comment}'${key.replace('?', '')}'${optional ? '?' : ''}: ${text}${optional ? ' | undefined' : ''}\n`
    })
    .join('')
}

function acceptsNothing(node: TypeNode, nouns: Nouns): boolean {
  const type = node.kind === 'noun' ? nouns[node.name]?.type : node
  return type?.kind === 'code' && type.code.optional === true
}

/** The fields of an object, with those of its bases before them. */
export function allFields(type: TypeNode & { kind: 'object' }, nouns: Nouns): Fields {
  const inherited = type.bases.map((base) => {
    const node = nouns[base]?.type
    if (node?.kind !== 'object') throw new TypeError(`Base is not an object: "${base}".`)
    return allFields(node, nouns)
  })
  return Object.assign({}, ...inherited, type.fields)
}
