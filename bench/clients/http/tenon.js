import { connect } from 'tenon/client'
import { drive, revision, url } from '../drive.js'

const client = await connect(url, { revision })
await drive((text) => client.callTool('echo', { text }))
await client.close()
