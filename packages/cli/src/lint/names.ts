import type { Tool } from 'tenon'
import { apiNameCharacters, cursorNameLength, geminiNameStart, maxNameLength, specToolName } from './limits.ts'
import type { LintInput, Problem, Rule } from './problem.ts'

/** Checks the names of tools, alone and with the prefix of a host. */
export const checkNames: Rule = (input) => [
  ...input.contract.tools.flatMap((tool) => [...checkCharacters(tool), ...checkLength(tool, input)]),
  ...checkRepeated(input),
]

function checkCharacters({ name }: Tool): Problem[] {
  const about = { where: `tool ${name}`, path: '/name' }
  const fix = 'Use letters, digits, "_" and "-" only.'
  if (!specToolName.test(name) && name.length <= 128) {
    const message = 'The name has characters that MCP advises against, and that model APIs reject.'
    return [{ ...about, rule: 'tool-name-characters', severity: 'error', message, fix }]
  }
  if (!apiNameCharacters.test(name)) {
    const message = 'The name has characters that Anthropic and OpenAI reject. Hosts have to rename the tool.'
    return [{ ...about, rule: 'tool-name-characters', severity: 'warning', message, fix }]
  }
  if (geminiNameStart.test(name)) return []
  const message = 'The name starts with a digit or "-", which Gemini rejects.'
  return [{ ...about, rule: 'tool-name-start', severity: 'warning', message, fix: 'Start it with a letter.' }]
}

function checkLength({ name }: Tool, { serverName }: LintInput): Problem[] {
  const about = { where: `tool ${name}`, path: '/name' }
  if (name.length > maxNameLength) {
    const message = `The name has ${name.length} characters. OpenAI and Gemini take ${maxNameLength}.`
    const fix = `Shorten it to ${maxNameLength - prefixOf(serverName).length} characters or less.`
    return [{ ...about, rule: 'tool-name-length', severity: 'error', message, fix }]
  }
  const prefixed = prefixOf(serverName) + name
  if (prefixed.length > maxNameLength) {
    const message = `With the prefix of a host the name has ${prefixed.length} characters (${prefixed}). OpenAI and Gemini take ${maxNameLength}.`
    const fix = 'Shorten the name of the tool or of the server.'
    return [{ ...about, rule: 'tool-name-prefixed-length', severity: 'warning', message, fix }]
  }
  const combined = serverName.length + name.length
  if (combined < cursorNameLength) return []
  const message = `The names of server and tool have ${combined} characters together. Cursor hides tools with ${cursorNameLength} or more.`
  return [
    {
      ...about,
      rule: 'tool-name-prefixed-length',
      severity: 'warning',
      message,
      fix: 'Shorten the name of the tool or of the server.',
    },
  ]
}

/** The prefix of Claude Code. Those of other hosts are shorter. */
function prefixOf(serverName: string): string {
  return `mcp__${serverName.replace(/[^A-Za-z0-9_-]/g, '_')}__`
}

function checkRepeated({ contract: { tools, prompts, resources } }: LintInput): Problem[] {
  return [
    ...repeatedNames('tool', tools, ({ name }) => name),
    ...repeatedNames('prompt', prompts, ({ name }) => name),
    ...repeatedNames('resource', resources, ({ uri }) => uri),
    ...similarNames(tools.map(({ name }) => name)),
  ]
}

function repeatedNames<T>(noun: string, items: readonly T[], nameOf: (item: T) => string): Problem[] {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count > 1)
    .map(([name, count]) => ({
      rule: 'duplicate-name',
      severity: 'error',
      where: `${noun} ${name}`,
      path: '',
      message: `The list has it ${count} times. Clients can use only one of them, and model APIs reject repeated names.`,
      fix: 'Give each one its own name.',
    }))
}

/** Models confuse names that differ only in case or in "-" and "_". */
function similarNames(names: readonly string[]): Problem[] {
  const first = new Map<string, string>()
  const problems: Problem[] = []
  for (const name of new Set(names)) {
    const key = name.toLowerCase().replace(/[^a-z0-9]/g, '')
    const other = first.get(key)
    if (other === undefined) first.set(key, name)
    else if (key !== '')
      problems.push({
        rule: 'similar-name',
        severity: 'warning',
        where: `tool ${name}`,
        path: '/name',
        message: `The name is nearly the same as "${other}", so a model may call the wrong tool.`,
        fix: 'Choose names that differ in more than case, "-" and "_".',
      })
  }
  return problems
}
