import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { bareServer, drive } from './drive.js'

const client = new Client({ name: 'bench', version: '1.0.0' })
await client.connect(new StdioClientTransport(bareServer))
await drive((text) => client.callTool({ name: 'echo', arguments: { text } }))
await client.close()
