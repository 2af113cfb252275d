// The authorization server that the conformance suite tests:
// node conformance/authorization.mjs --client ID --redirect URI
import { parseArgs } from 'node:util'
import { startAuthorizationServer } from 'tenon/testing'

const { values: options } = parseArgs({ options: { client: { type: 'string' }, redirect: { type: 'string' } } })
const { issuer } = await startAuthorizationServer({
  clients: [{ client_id: options.client, redirect_uris: [options.redirect] }],
})
console.log(`listening on ${issuer}`)
