import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { stateless } from '../messages.js'
import { bareServer, drive, revision } from './drive.js'

const mode = revision === stateless ? { pin: stateless } : 'legacy'
const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode } })
await client.connect(new StdioClientTransport(bareServer))
await drive((text) => client.callTool({ name: 'echo', arguments: { text } }))
await client.close()
