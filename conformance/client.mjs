// The client that the conformance suite tests: node conformance/client.mjs URL. The suite sets the scenario, the
// revision and the data as environment variables.
import { clientCredentials, enterpriseManaged, oauth, workloadIdentity } from 'tenon/auth/client'
import { connect } from 'tenon/client'

/** What to do once connected in each scenario, with its handlers. */
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

/** A call to make between the round trips of another call. */
let unrelated

/** The authorization pages of the suite redirect immediately. */
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

/** These servers declare no tools, so `listTools` would not send a request. */
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

/** Calls every listed tool; the SDK must have removed tools with invalid header annotations. */
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

/** Makes the unrelated call between the round trips of the other call. */
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

/** All auth scenarios list the tools and call one after the login. */
function authScenario(name) {
  if (!name.startsWith('auth/')) return undefined
  return { play: useTools, auth: authOf[name] ?? (() => oauth(browserless)) }
}

async function useTools(client) {
  const [tool] = await listTools(client)
  if (tool) await client.callTool(tool.name, {})
  await client.ping()
}
