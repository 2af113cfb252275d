// The API of `@modelcontextprotocol/server/stdio`.
export { type ServeStdioOptions, type StdioServerHandle, serveStdio } from './serve-stdio.ts'
export { StdioServerTransport } from './stdio-transport.ts'
