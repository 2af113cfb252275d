// Checks of responses. A check returns a description of the problem, or nothing.

export function echoes({ content }, text) {
  if (content?.length !== 1 || content[0].text !== text) return 'not the text that was sent'
}

export function listsAll({ tools, nextCursor }) {
  if (nextCursor !== undefined) return 'not all tools in one page'
  const complete = tools.filter(
    ({ name, description, inputSchema }) =>
      name.startsWith('search_') &&
      description.length > 50 &&
      Object.keys(inputSchema.properties).length === 5 &&
      inputSchema.properties.query.description.length > 20,
  )
  // The thousandth is `echo`.
  if (tools.length !== 1000 || complete.length !== 999) return `${tools.length} tools, ${complete.length} as expected`
}
