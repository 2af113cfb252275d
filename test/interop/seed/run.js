// Serves one of the seed's servers over stdio, in the way of its stdio block: node run.js echo
import { StdioServerTransport } from 'tenon/server'

const { server } = await import(`../dist/seed/${process.argv[2]}.js`)
const transport = new StdioServerTransport()
await server.connect(transport)
