import { connect } from 'tenon/client'
import { bareServer, drive, revision } from './drive.js'

const client = await connect(bareServer, { revision })
await drive((text) => client.callTool('echo', { text }))
await client.close()
