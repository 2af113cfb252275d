/** The TypeScript blocks of the seed document, in its order, each with the line of its opening fence. */
export const blocks = [
  { line: 19, title: 'Quick Start', file: 'quick-start.ts' },
  { line: 105, title: 'Core Concepts, Server', file: 'server.ts' },
  { line: 152, title: 'Streamable HTTP, without session management', file: 'without-sessions.ts' },
  { line: 190, title: 'Streamable HTTP, with session management', file: 'with-sessions.ts' },
  { line: 269, title: 'CORS configuration', file: 'cors.ts' },
  { line: 285, title: 'DNS rebinding protection', file: 'dns-rebinding.ts' },
  { line: 298, title: 'stdio', file: 'stdio.ts' },
  { line: 321, title: 'Node.js Web Crypto compatibility', file: 'web-crypto.ts' },
  { line: 333, title: 'Echo Server', file: 'echo.ts' },
  { line: 399, title: 'SQLite Explorer', file: 'sqlite.ts' },
]

/** All that a user of the official package has to change. */
export const specifiers = {
  '@modelcontextprotocol/sdk/server/mcp.js': 'tenon/server',
  '@modelcontextprotocol/sdk/server/stdio.js': 'tenon/server',
  '@modelcontextprotocol/sdk/server/streamableHttp.js': 'tenon/server',
  '@modelcontextprotocol/sdk/types.js': 'tenon',
  // The package sqlite3 downloads a binary when it is installed; this one has its API.
  sqlite3: './sqlite3.js',
}

export function withOurSpecifiers(code) {
  return code.replace(/(?<= from ')[^']+(?=')/g, (specifier) => specifiers[specifier] ?? specifier)
}
