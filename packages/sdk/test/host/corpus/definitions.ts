import type { Definitions } from '../../../src/host/definitions.ts'
import type { Tool } from '../../../src/protocol/tools.ts'

/** Definitions without anything, and with some members replaced. */
export function definitionsWith(members: Partial<Definitions>): Definitions {
  return { tools: [], prompts: [], resourceTemplates: [], resources: [], ...members }
}

/** A tool with one text parameter. */
export function toolNamed(name: string, description = 'Adds numbers.', parameter = 'A number.'): Tool {
  const value = { type: 'string', description: parameter }
  return { name, description, inputSchema: { type: 'object', properties: { value } } }
}
