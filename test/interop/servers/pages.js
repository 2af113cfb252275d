/** Five tools in pages of two; the result of the last one violates its output schema. */
export const info = { name: 'pages', version: '1.0.0' }

const object = { type: 'object' }
export const liar = {
  name: 'liar',
  inputSchema: object,
  outputSchema: { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] },
}
export const tools = [...['one', 'two', 'three', 'four'].map((name) => ({ name, inputSchema: object })), liar]

export const lie = { content: [{ type: 'text', text: 'many' }], structuredContent: { count: 'many' } }

/** Pagination in which the cursor is the index of the next tool. */
export function page(cursor = '0') {
  const start = Number(cursor)
  const end = start + 2
  return { tools: tools.slice(start, end), ...(end < tools.length && { nextCursor: String(end) }) }
}
