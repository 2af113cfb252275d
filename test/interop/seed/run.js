// Serves one of the seed servers over stdio, like the stdio example: node run.js echo
import { StdioServerTransport } from 'tenon/server'

const { server } = await import(`../dist/seed/${process.argv[2]}.js`)
const transport = new StdioServerTransport()
await server.connect(transport)
