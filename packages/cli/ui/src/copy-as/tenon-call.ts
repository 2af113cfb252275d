import { isObject } from 'tenon/internal'
import type { Call } from './call.ts'
import { quote } from './shell.ts'

/** The same request as a command of this toolkit; undefined if no command makes it. */
export function toTenonCommand(call: Call): string | undefined {
  const words = wordsOf(call)
  if (words === undefined) return undefined
  const options = [
    ...(call.revision === undefined ? [] : ['--revision', call.revision]),
    ...(call.server.transport === 'sse' ? ['--sse'] : []),
  ]
  const { address, transport } = call.server
  const [verb, ...rest] = [...words, ...options].map(quote)
  // The address of a program is a command line already.
  if (transport === 'stdio') return ['tenon', verb, ...rest, '--', address].join(' ')
  return ['tenon', verb, quote(address), ...rest].join(' ')
}

function wordsOf({ method, params }: Call): string[] | undefined {
  const args = isObject(params.arguments) ? params.arguments : {}
  if (method === 'tools/call') return ['call', String(params.name), ...toWords(args)]
  if (method === 'prompts/get') return ['prompt', String(params.name), ...toWords(args)]
  return method === 'resources/read' ? ['read', String(params.uri)] : undefined
}

/** `key=value` for text, numbers and booleans, `key:=json` for the rest, `--args` if a name would be misread. */
function toWords(args: Readonly<Record<string, unknown>>): string[] {
  const entries = Object.entries(args)
  if (entries.some(([name]) => !/^[A-Za-z_][\w.-]*$/.test(name))) return ['--args', JSON.stringify(args)]
  return entries.map(([name, value]) => {
    const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
    return isPlain ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`
  })
}
