import * as z from 'zod'

// The schemas of definitions.js as a user would write them. One object per tool, as in a real server, where tools do
// not share their schemas.

export const echoShape = { text: z.string() }

export function searchShape() {
  return {
    query: z.string().describe('Words to look for, in any order'),
    limit: z.int().min(1).max(100).describe('The most results to return'),
    order: z.enum(['newest', 'oldest', 'relevance']).optional().describe('What comes first'),
    archived: z.boolean().optional().describe('Whether archived entries are searched too'),
    labels: z.array(z.string()).optional().describe('Only entries that carry all of these labels'),
  }
}

export function formShape() {
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
