// The client that the conformance suite listens to: node conformance/client.mjs URL. The suite says by environment
// variables which scenario to play, on which revision, and with what data.
import { clientCredentials, enterpriseManaged, oauth, workloadIdentity } from 'tenon/auth/client'
import { connect } from 'tenon/client'

/** What to do once connected, with the handlers that the scenario wants to see used. */
const scenarios = {
  initialize: { play: listUnasked },
  tools_call: { play: addNumbers },
  'sse-retry': { play: callThatReconnects },
  'request-metadata': { play: listUnasked, handlers: { roots: [], sample: refuse, elicit: refuse } },
  'http-standard-headers': { play: useEveryFeature },
  'http-custom-headers': { play: makeGivenCalls },
  'http-invalid-tool-headers': { play: callAllTools },
  'json-schema-ref-no-deref': { play: listTools },
  'json-schema-2020-12-preservation': { play: sendSchemaBack },
  'elicitation-sep1034-client-defaults': { play: takeDefaults, handlers: { elicit: () => ({ action: 'accept' }) } },
  'sep-2322-client-request-state': { play: playRounds, handlers: { elicit: confirm } },
}

/** A call to make while another is between its rounds. */
let unrelated

/** The suite's pages send the user back at once. */
const browserless = {
  clientName: 'tenon-conformance-client',
  clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
  redirectUrl: 'http://localhost:3000/callback',
  authorize: async (page) => {
    const { headers } = await fetch(page, { redirect: 'manual' })
    return new URL(headers.get('location'))
  },
}

const authOf = {
  'auth/pre-registration': ({ client_id: clientId, client_secret: clientSecret, issuer }) =>
    oauth({ ...browserless, clientId, clientSecret, issuer }),
  'auth/client-credentials-basic': ({ client_id: clientId, client_secret: clientSecret }) =>
    clientCredentials({ clientId, clientSecret }),
  'auth/client-credentials-jwt': ({ client_id: clientId, private_key_pem: privateKey, signing_algorithm: algorithm }) =>
    clientCredentials({ clientId, privateKey, algorithm }),
  'auth/enterprise-managed-authorization': (context) =>
    enterpriseManaged({
      clientId: context.client_id,
      clientSecret: context.client_secret,
      identityProvider: {
        tokenEndpoint: context.idp_token_endpoint,
        issuer: context.idp_issuer,
        clientId: context.idp_client_id,
        idToken: context.idp_id_token,
      },
    }),
  'auth/wif-jwt-bearer': ({ client_id: clientId, valid_jwt: assertion }) => workloadIdentity({ clientId, assertion }),
}

const { MCP_CONFORMANCE_SCENARIO: name, MCP_CONFORMANCE_PROTOCOL_VERSION: revision } = process.env
const scenario = Object.hasOwn(scenarios, name ?? '') ? scenarios[name] : authScenario(name ?? '')
try {
  if (!scenario) throw new Error(`No scenario ${name}; there are ${Object.keys(scenarios).join(', ')}`)
  await run(scenario)
} catch (error) {
  console.error(error.message, error.cause ?? '')
  process.exitCode = 1
}

async function run({ play, handlers, auth }) {
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
  const client = await connect(process.argv.at(-1), {
    info: { name: 'tenon-conformance-client', version: '1.0.0' },
    revision,
    handlers,
    auth: auth?.(context),
  })
  client.on('warning', ({ message }) => console.error(message))
  try {
    await play(client, context)
  } finally {
    await client.close()
  }
}

/** These servers declare no tools, so that `listTools` would not ask them. */
async function listUnasked(client) {
  await client.request('tools/list', {})
}

function listTools(client) {
  return client.listTools().all()
}

async function addNumbers(client) {
  await listTools(client)
  await client.callTool('add_numbers', { a: 5, b: 3 })
}

async function callThatReconnects(client) {
  await listTools(client)
  await client.callTool('test_reconnection', {})
}

async function useEveryFeature(client) {
  await listTools(client)
  await client.callTool('test_headers', {})
  const [resource] = await client.listResources().all()
  await client.readResource(resource.uri)
  await client.listPrompts().all()
  await client.getPrompt('test_prompt')
}

async function makeGivenCalls(client, { toolCalls }) {
  await listTools(client)
  for (const { name, arguments: args } of toolCalls) await client.callTool(name, args)
}

/** Whatever the SDK still shows may be called; tools whose header annotations are wrong must be gone. */
async function callAllTools(client) {
  for (const { name, inputSchema } of await listTools(client)) {
    const args = Object.fromEntries(Object.keys(inputSchema.properties ?? {}).map((property) => [property, 'test']))
    await client.callTool(name, args)
  }
}

async function sendSchemaBack(client) {
  const tools = await listTools(client)
  const { inputSchema } = tools.find((tool) => tool.name === 'json_schema_2020_12_tool')
  await client.callTool('json_schema_echo', { schema: inputSchema })
}

async function takeDefaults(client) {
  await listTools(client)
  await client.callTool('test_client_elicitation_defaults')
}

/** The unrelated call is made while the other is between its rounds. */
async function playRounds(client) {
  await listTools(client)
  unrelated = () => client.callTool('test_mrtr_unrelated')
  await client.callTool('test_mrtr_echo_state')
  await client.callTool('test_mrtr_no_state')
  await client.callTool('test_mrtr_no_result_type')
}

async function confirm() {
  const call = unrelated
  unrelated = undefined
  await call?.()
  return { action: 'accept', content: { confirmed: true } }
}

function refuse() {
  throw new Error('Nothing is asked in this scenario')
}

/** All of them list the tools and call one, once they have permission. */
function authScenario(name) {
  if (!name.startsWith('auth/')) return undefined
  return { play: useTools, auth: authOf[name] ?? (() => oauth(browserless)) }
}

async function useTools(client) {
  const [tool] = await listTools(client)
  if (tool) await client.callTool(tool.name, {})
  await client.ping()
}
