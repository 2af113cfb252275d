import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const client = new Client({ name: 'cashier', version: '1.0.0' })
await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.js'] }))
const { content } = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
console.log(`add: ${content[0].text}`)
await client.close()
