import type { Prompt, Tool } from 'tenon'
import { inspectDefinitions } from 'tenon/host'
import { isObject } from 'tenon/internal'
import { objectOf } from '../contract/json.ts'
import { maxDescriptionChars } from './limits.ts'
import type { LintInput, Problem, Rule } from './problem.ts'

/** Checks descriptions: of tools, of their arguments, and of prompts. */
export const checkDescriptions: Rule = ({ contract: { tools, prompts } }) => [
  ...tools.flatMap((tool) => [...checkToolDescription(tool), ...checkArgumentDescriptions(tool)]),
  ...prompts.flatMap(checkPrompt),
]

/** Looks for hidden characters, look-alikes, text that gives orders to a model, and secrets. */
export const checkSuspiciousText: Rule = ({ contract, serverName }: LintInput) => {
  const { server, instructions, ...lists } = contract
  const definitions = { ...lists, identity: server ?? undefined, instructions: instructions ?? undefined }
  return inspectDefinitions(serverName, definitions, []).map(({ rule, severity, where, message, excerpt }) => ({
    rule: `suspicious-${rule}`,
    severity: severity === 'high' ? 'error' : 'warning',
    where: whereOf(where),
    path: '',
    message: excerpt === '' ? message : `${message} Found: ${excerpt}`,
    fix: fixes[rule] ?? 'Describe only what the tool does, in plain visible text.',
  }))
}

const fixes: Readonly<Record<string, string>> = {
  'hidden-text': 'Remove the invisible characters.',
  'look-alike': 'Use the letters of one script.',
  secret: 'Remove the secret, and replace it where it is valid.',
  'not-inspected': 'Shorten the definitions.',
}

/** `tool add, description` becomes `tool add`, so that the problems of a tool are together. */
function whereOf(where: string): string {
  const at = where.indexOf(', ')
  return at === -1 ? where : where.slice(0, at)
}

function checkToolDescription({ name, description = '' }: Tool): Problem[] {
  const about = { where: `tool ${name}`, path: '/description' }
  if (description.trim() === '') {
    const message = 'There is no description. Models choose tools by their descriptions.'
    const fix = 'Say in a sentence or two what the tool does, and when to use it.'
    return [{ ...about, rule: 'description-missing', severity: 'warning', message, fix }]
  }
  if (description.length <= maxDescriptionChars) return []
  const message = `The description has ${description.length} characters. Some services that are compatible with OpenAI take ${maxDescriptionChars}.`
  const fix = 'Shorten it. Put details of arguments into their own descriptions.'
  return [{ ...about, rule: 'description-length', severity: 'warning', message, fix }]
}

function checkArgumentDescriptions({ name, inputSchema }: Tool): Problem[] {
  const properties = Object.entries(objectOf(inputSchema.properties))
  const missing = properties.filter(([, schema]) => !hasDescription(schema)).map(([key]) => key)
  if (missing.length === 0) return []
  const list = missing.slice(0, 10).join(', ') + (missing.length > 10 ? ' ...' : '')
  const message =
    missing.length === 1
      ? `The argument ${list} has no description.`
      : `${missing.length} arguments have no description: ${list}`
  const fix = 'Add "description" to each, with the format and an example where it helps.'
  return [
    {
      rule: 'argument-description-missing',
      severity: 'warning',
      where: `tool ${name}`,
      path: '/inputSchema/properties',
      message,
      fix,
    },
  ]
}

/** A reference has its description where it points to. */
function hasDescription(schema: unknown): boolean {
  if (!isObject(schema)) return false
  return typeof schema.$ref === 'string' || (typeof schema.description === 'string' && schema.description.trim() !== '')
}

function checkPrompt({ name, description = '', arguments: args = [] }: Prompt): Problem[] {
  const where = `prompt ${name}`
  const fix = 'Add a description. Hosts show it to the user.'
  const problems: Problem[] = []
  if (description.trim() === '') {
    const message = 'There is no description.'
    problems.push({ rule: 'description-missing', severity: 'warning', where, path: '/description', message, fix })
  }
  const missing = args.filter((argument) => !argument.description).map((argument) => argument.name)
  if (missing.length > 0) {
    const message = `Arguments without a description: ${missing.slice(0, 10).join(', ')}`
    problems.push({
      rule: 'argument-description-missing',
      severity: 'info',
      where,
      path: '/arguments',
      message,
      fix,
    })
  }
  return problems
}
