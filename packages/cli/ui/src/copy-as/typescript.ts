import { isObject } from 'tenon/internal'
import type { Call } from './call.ts'
import { splitWords } from './shell.ts'

/** A TypeScript program that makes the same request; undefined if there is no method for it. */
export function toTypeScript(call: Call): string | undefined {
  const request = requestOf(call)
  if (request === undefined) return undefined
  return `import { connect } from 'tenon/client'

await using client = await connect(${targetOf(call)})

const result = await client.${request}
console.log(result)
`
}

/** The first arguments of `connect`. */
export function targetOf({ server, revision }: Call): string {
  const options = revision === undefined ? '' : `, { revision: ${literal(revision)} }`
  if (server.transport !== 'stdio') return `${literal(server.address)}${options}`
  const [command = '', ...args] = splitWords(server.address)
  return `{ command: ${literal(command)}, args: ${literal(args)} }${options}`
}

/** The call of the client's method. */
export function requestOf({ method, params }: Call): string | undefined {
  const args = isObject(params.arguments) ? params.arguments : {}
  const rest = Object.keys(args).length === 0 ? '' : `, ${literal(args)}`
  if (method === 'tools/call') return `callTool(${literal(params.name)}${rest})`
  if (method === 'prompts/get') return `getPrompt(${literal(params.name)}${rest})`
  return method === 'resources/read' ? `readResource(${literal(params.uri)})` : undefined
}

/** A value as source text, in the style of this code base. */
export function literal(value: unknown, indent = 0): string {
  if (typeof value === 'string') return stringLiteral(value)
  if (Array.isArray(value)) {
    const items = value.map((item) => literal(item, indent + 2))
    return fold('[', items, ']', indent)
  }
  if (isObject(value)) {
    const members = Object.entries(value).map(([name, each]) => `${nameOf(name)}: ${literal(each, indent + 2)}`)
    return members.length === 0 ? '{}' : fold('{ ', members, ' }', indent)
  }
  return JSON.stringify(value) ?? 'undefined'
}

function fold(open: string, parts: readonly string[], close: string, indent: number): string {
  const line = `${open}${parts.join(', ')}${close}`
  if (line.length + indent <= 100 && !line.includes('\n')) return line
  const space = ' '.repeat(indent + 2)
  return `${open.trim()}\n${parts.map((part) => `${space}${part},\n`).join('')}${' '.repeat(indent)}${close.trim()}`
}

/** Characters that an editor would hide or reorder are escaped, so that the source shows what it does. */
function stringLiteral(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner.replace(/[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, toEscape)}'`
}

function toEscape(char: string): string {
  return [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
}

function nameOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : `[${stringLiteral(name)}]`
}
