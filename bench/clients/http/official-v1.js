import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { drive, url } from '../drive.js'

const client = new Client({ name: 'bench', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
await drive((text) => client.callTool({ name: 'echo', arguments: { text } }))
await client.close()
