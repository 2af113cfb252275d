import type { Tool } from 'tenon'
import { manyTokens, manyTools, manyToolTokens, maxTokens, maxTools, someTools } from './limits.ts'
import type { Problem, Rule, Severity } from './problem.ts'

/** Checks how many tools there are, and how much of a model's context they take. */
export const checkSize: Rule = ({ contract: { tools } }) => [
  ...checkCount(tools.length),
  ...checkTotal(tools),
  ...tools.flatMap(checkTool),
]

/**
 * Estimates the tokens that tools take in every request to a model. Tokenizers differ; JSON in English has about four characters
 * per token.
 */
export function estimateTokens(tools: readonly Tool[]): number {
  const chars = tools.reduce((sum, { name, description, inputSchema }) => {
    return sum + JSON.stringify({ name, description, inputSchema }).length
  }, 0)
  return Math.ceil(chars / 4)
}

const fewer = 'Offer fewer tools: join those that belong together, or split the server.'

function checkCount(count: number): Problem[] {
  const problem = (severity: Severity, message: string): Problem[] => [
    { rule: 'tool-count', severity, where: 'server', path: '/tools', message, fix: fewer },
  ]
  if (count > maxTools) return problem('error', `${count} tools: OpenAI and VS Code take at most ${maxTools} in total.`)
  if (count > manyTools) return problem('warning', `${count} tools: some hosts take only ${manyTools} in total.`)
  if (count > someTools) return problem('info', `${count} tools: models choose better among fewer than ${someTools}.`)
  return []
}

function checkTotal(tools: readonly Tool[]): Problem[] {
  const tokens = estimateTokens(tools)
  if (tokens <= manyTokens) return []
  const over =
    tokens > maxTokens ? `Claude Code warns above ${maxTokens} in total.` : 'They are part of every request to a model.'
  return [
    {
      rule: 'token-count',
      severity: 'warning',
      where: 'server',
      path: '/tools',
      message: `The tools take about ${tokens} tokens. ${over}`,
      fix: 'Shorten descriptions and schemas, or offer fewer tools.',
    },
  ]
}

function checkTool(tool: Tool): Problem[] {
  const tokens = estimateTokens([tool])
  if (tokens <= manyToolTokens) return []
  return [
    {
      rule: 'token-count',
      severity: 'info',
      where: `tool ${tool.name}`,
      path: '',
      message: `Its definition takes about ${tokens} tokens.`,
      fix: 'Shorten the description and the schema.',
    },
  ]
}
