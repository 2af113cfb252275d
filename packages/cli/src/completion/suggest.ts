import { Command } from 'commander'
import { commandTable } from '../command-table.ts'
import { findServers } from '../config-files.ts'
import { isPlainWord, knownTools } from '../known-tools.ts'

/** Commands whose first argument is not a server. */
const withoutTarget: ReadonlySet<string> = new Set(['init', 'migrate', 'pack', 'dev', 'diff', 'auth', 'completion'])

/**
 * Suggests how the last word of a command line goes on. Starts no server: tools are those of the last "tenon list" or "call".
 * @param words The words after `tenon`. The last one is the beginning of a word, and may be empty.
 */
export async function suggest(words: readonly string[]): Promise<string[]> {
  const before = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  const all = await allSuggestions(before, current)
  return [...new Set(all)].filter((word) => word.startsWith(current) && isPlainWord(word.replace(/=$/, '')))
}

async function allSuggestions(before: readonly string[], current: string): Promise<string[]> {
  const [name = '', ...rest] = before
  const names = [...commandTable.keys()]
  if (before.length === 0) return [...names, 'help', '--help', '--version']
  if (name === 'help') return before.length === 1 ? names : []
  const entry = commandTable.get(name)
  if (!entry || rest.includes('--')) return []
  const program = new Command()
  const register = await entry.load()
  register(program)
  const command = program.commands.find((each) => each.name() === name)
  const options = command?.options ?? []
  const valued = options.find(({ long, required }) => required && long === rest.at(-1))
  if (valued) return [...(valued.argChoices ?? [])]
  if (current.startsWith('-')) return options.flatMap(({ long }) => long ?? [])
  const operands = rest.filter((word, index) => {
    const isValue = options.some(({ long, required }) => required && long === rest[index - 1])
    return !word.startsWith('-') && !isValue
  })
  return forOperand(name, operands, configOf(rest))
}

function forOperand(name: string, operands: readonly string[], config: string | undefined): string[] {
  if (name === 'completion') return operands.length === 0 ? ['bash', 'zsh', 'fish'] : []
  if (name === 'auth' && operands.length === 0) return ['explain']
  const kinds = name === 'list' ? ['tools', 'prompts', 'resources'] : []
  const isSecond = operands.length === 1 && kinds.includes(operands[0] ?? '')
  if (operands.length === 0 || isSecond)
    return withoutTarget.has(name) ? [] : [...findServers().map(({ id }) => id), ...(isSecond ? [] : kinds)]
  if (name !== 'call') return []
  const [target = '', tool] = operands
  const tools = knownTools({ words: [target], isCommand: false }, config === undefined ? {} : { config })
  return tool === undefined ? Object.keys(tools) : (tools[tool] ?? []).map((key) => `${key}=`)
}

function configOf(rest: readonly string[]): string | undefined {
  const at = rest.indexOf('--config')
  return at === -1 ? undefined : rest[at + 1]
}
