import * as z from 'zod'
import { echoTool, extraTools, listedTool, offersForm } from './definitions.js'

// The tools of definitions.js as a user would write them. One schema per tool, as in a real server, where tools do not
// share schemas.

/**
 * Returns a function that registers all tools on a server. The schemas are created once, so that a server that is
 * created for every request does not pay for them each time. `toSchema` is for packages that need more than a raw
 * shape.
 */
export function zodTools(toSchema = (shape) => shape) {
  const tools = [{ ...echoTool, inputSchema: toSchema({ text: z.string() }), reply: ({ text }) => text }]
  for (let n = 0; n < extraTools; n++) {
    tools.push({ ...listedTool(n), inputSchema: toSchema(searchShape()), reply: ({ query }) => query })
  }
  if (offersForm) {
    const inputSchema = toSchema(formShape())
    tools.push({ name: 'form', description: 'A long form', inputSchema, reply: ({ text0 }) => text0 })
  }
  return (server) => {
    for (const { name, description, inputSchema, reply } of tools) {
      server.registerTool(name, { description, inputSchema }, (args) => ({
        content: [{ type: 'text', text: reply(args) }],
      }))
    }
  }
}

function searchShape() {
  return {
    query: z.string().describe('Words to look for, in any order'),
    limit: z.int().min(1).max(100).describe('The most results to return'),
    order: z.enum(['newest', 'oldest', 'relevance']).optional().describe('What comes first'),
    archived: z.boolean().optional().describe('Whether archived entries are searched too'),
    labels: z.array(z.string()).optional().describe('Only entries that carry all of these labels'),
  }
}

function formShape() {
  const shape = {}
  for (let n = 0; n < 5; n++) {
    shape[`text${n}`] = z.string()
    shape[`count${n}`] = z.int()
    shape[`share${n}`] = z.number().min(0).max(1)
    shape[`agreed${n}`] = z.boolean()
    shape[`size${n}`] = z.enum(['small', 'medium', 'large'])
    shape[`labels${n}`] = z.array(z.string())
  }
  return shape
}
