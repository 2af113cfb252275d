import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { stateless } from '../../messages.js'
import { drive, revision, url } from '../drive.js'

const mode = revision === stateless ? { pin: stateless } : 'legacy'
const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode } })
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
await drive((text) => client.callTool({ name: 'echo', arguments: { text } }))
await client.close()
