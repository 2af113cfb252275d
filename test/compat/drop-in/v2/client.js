import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const client = new Client({ name: 'cashier', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.js'] }))
const { content } = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
console.log(`add: ${content[0].text}`)
await client.close()
