// The server that the conformance suite tests: node conformance/server.mjs [--port N] [--revision R], default 3001 and all revisions.
// Names, arguments and results are defined by the scenarios of the suite.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ErrorCode, ProtocolError } from 'tenon'
import { acceptedContent, completable, inputRequired, McpServer, ResourceTemplate, serveHttp } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import * as z from 'zod'

// One grey pixel, and half a millisecond of silence.
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=='
const wav = 'UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA'
const image = { type: 'image', data: png, mimeType: 'image/png' }

const { values: options } = parseArgs({
  options: { port: { type: 'string', default: '3001' }, revision: { type: 'string' } },
})
const server = new McpServer(
  { name: 'tenon-conformance-server', version: '1.0.0' },
  { tasks: tasks(), ...(options.revision && { revisions: [options.revision] }) },
)
registerPlainTools()
registerTalkingTools()
registerAskingTools()
registerRoundTools()
registerTriggers()
registerSchemaTools()
registerTaskTools()
registerResources()
registerPrompts()

const { url } = await serveHttp(server, { port: Number(options.port) })
console.log(`listening on ${url}`)

/** `test_simple_text` comes first: the suite calls whatever is listed first, without arguments. */
function registerPlainTools() {
  tool('test_simple_text', 'Returns text', () => 'This is a simple text response for testing.')
  tool('test_image_content', 'Returns an image', () => ({ content: [image] }))
  tool('test_audio_content', 'Returns a sound', () => ({
    content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  }))
  tool('test_embedded_resource', 'Returns a resource', () => ({
    content: [embedded('test://embedded-resource', 'This is an embedded resource content.')],
  }))
  tool('test_multiple_content_types', 'Returns text, an image and a resource', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      embedded('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
    ],
  }))
  tool('test_error_handling', 'Always fails', () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
}

/** Tools that send notifications before their result, or use information about the caller. */
function registerTalkingTools() {
  tool('test_tool_with_logging', 'Logs what it does', async (_args, ctx) => {
    ctx.log.info('Tool execution started')
    await sleep(50)
    ctx.log.info('Tool processing data')
    await sleep(50)
    ctx.log.info('Tool execution completed')
    return 'Tool with logging executed successfully'
  })
  tool('test_logging_tool', 'Logs to whoever asked for it', (_args, ctx) => {
    ctx.log.info('Only those who named a level see this')
    return 'Logged'
  })
  tool('test_tool_with_progress', 'Tells how far it is', async (_args, ctx) => {
    ctx.progress(0, { total: 100 })
    await sleep(50)
    ctx.progress(50, { total: 100 })
    await sleep(50)
    ctx.progress(100, { total: 100 })
    return 'Tool with progress executed successfully'
  })
  tool('test_reconnection', 'Lets go of the connection and answers later', async (_args, ctx) => {
    ctx.closeStream({ retryMs: 500 })
    await sleep(100)
    return 'Reconnection test completed successfully'
  })
}

/** Tools that send requests to the client. */
function registerAskingTools() {
  server.registerTool(
    'test_sampling',
    { description: 'Has a model answer a prompt', inputSchema: { prompt: z.string() } },
    async ({ prompt }, ctx) => `LLM response: ${(await ctx.sample(oneMessage(prompt))).text}`,
  )
  server.registerTool(
    'test_elicitation',
    { description: 'Asks for a user name and an address', inputSchema: { message: z.string() } },
    async ({ message }, ctx) => {
      const { action, content } = await ctx.elicit(message, z.object({ username: z.string(), email: z.string() }))
      return `User response: ${action}, ${JSON.stringify(content)}`
    },
  )
  asking('test_elicitation_sep1034_defaults', 'Asks with a default for every kind of field', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  })
  const titled = [
    { const: 'one', title: 'One' },
    { const: 'two', title: 'Two' },
  ]
  const values = ['one', 'two']
  asking('test_elicitation_sep1330_enums', 'Asks for every kind of choice', {
    untitledSingle: { type: 'string', enum: values },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: values, enumNames: ['One', 'Two'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: values } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  })
  tool('test_missing_capability', 'Works only for clients that can sample', async (_args, ctx) => {
    const { text } = await ctx.sample(oneMessage('Hello'))
    return text
  })
  tool('test_streaming_elicitation', 'Asks before it answers', async (_args, ctx) => {
    const { action } = await ctx.elicit('Go on?')
    return action
  })
}

function asking(name, description, properties) {
  tool(name, description, async (_args, ctx) => {
    const { action, content } = await ctx.elicit('Please fill this in', { type: 'object', properties })
    return `Elicitation completed: ${action}, ${JSON.stringify(content)}`
  })
}

function oneMessage(text) {
  return { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 100 }
}

/** Tools that need several round trips on 2026-07-28. All but the first simply await. */
function registerRoundTools() {
  const prefix = 'test_input_required_result'
  const named = z.object({ name: z.string() })
  const agreed = z.object({ ok: z.boolean() })
  // The suite sends the answer without a request and without state.
  tool(`${prefix}_elicitation`, 'Asks for a name, by hand', (_args, ctx) => {
    const accepted = acceptedContent(ctx.inputResponses, 'user_name', named)
    if (accepted) return `Hello, ${accepted.name}!`
    const question = inputRequired.elicit({ message: 'What is your name?', requestedSchema: named })
    return inputRequired({ inputRequests: { user_name: question } })
  })
  tool(`${prefix}_sampling`, 'Has a model answer', async (_args, ctx) => {
    const { text } = await ctx.sample(oneMessage('What is the capital of France?'), { key: 'capital' })
    return text
  })
  tool(`${prefix}_list_roots`, 'Asks for the roots', async (_args, ctx) => {
    const roots = await ctx.roots({ key: 'roots' })
    return `${roots.length} roots`
  })
  tool(`${prefix}_request_state`, 'Asks once and needs its state back', async (_args, ctx) => {
    await ctx.elicit('Please confirm', agreed, { key: 'confirm' })
    return 'state-ok'
  })
  tool(`${prefix}_multiple_inputs`, 'Asks for three things at once', async (_args, ctx) => {
    const [name, greeting, roots] = await Promise.all([
      ctx.elicit('What is your name?', named, { key: 'user_name' }),
      ctx.sample(oneMessage('Write a greeting'), { key: 'greeting' }),
      ctx.roots({ key: 'client_roots' }),
    ])
    return `${name.content?.name}: ${greeting.text}, ${roots.length} roots`
  })
  tool(`${prefix}_multi_round`, 'Asks twice', async (_args, ctx) => {
    const first = await ctx.elicit('Step 1: What is your name?', named, { key: 'step1' })
    const second = await ctx.elicit('Step 2: Which color?', z.object({ color: z.string() }), { key: 'step2' })
    return `${first.content?.name} likes ${second.content?.color}`
  })
  tool(`${prefix}_tampered_state`, 'Asks once, and refuses another state', async (_args, ctx) => {
    await ctx.elicit('Please confirm', agreed, { key: 'confirm' })
    return 'done'
  })
  tool(`${prefix}_capabilities`, 'Asks what the client can answer', async (_args, ctx) => {
    if (ctx.can('elicit')) await ctx.elicit('Please confirm', agreed, { key: 'confirm' })
    if (ctx.can('sample')) await ctx.sample(oneMessage('Hello'), { key: 'hello' })
    return 'done'
  })
}

/** Both publish a change without changing the list: other scenarios depend on its order. */
function registerTriggers() {
  tool('test_trigger_tool_change', 'Tells listeners that the tools changed', () => {
    server.sendToolListChanged()
    return 'Told'
  })
  tool('test_trigger_prompt_change', 'Tells listeners that the prompts changed', () => {
    server.sendPromptListChanged()
    return 'Told'
  })
}

function registerSchemaTools() {
  const text = { type: 'string' }
  server.registerTool(
    'test_x_mcp_header',
    {
      description: 'Takes a region, which the client repeats in a header',
      inputSchema: { type: 'object', properties: { region: { ...text, 'x-mcp-header': 'Region' } } },
    },
    ({ region }) => `Region: ${region}`,
  )
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Has an input schema with the keywords of JSON Schema 2020-12',
      inputSchema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: text, city: text } } },
        properties: {
          name: text,
          address: { $ref: '#/$defs/address' },
          contactMethod: { ...text, enum: ['phone', 'email'] },
          phone: text,
          email: text,
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        // biome-ignore lint/suspicious/noThenProperty: it is the keyword of JSON Schema
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
      },
    },
    (args) => `Taken: ${JSON.stringify(args)}`,
  )
}

/**
 * Tools of the tasks extension. Those that request input within a task are tasks from the start; otherwise the request
 * would come before the task.
 */
function registerTaskTools() {
  const optional = { execution: { taskSupport: 'optional' }, taskPolicy: 'always' }
  const required = { execution: { taskSupport: 'required' } }
  server.registerTool(
    'greet',
    { description: 'Says hello', inputSchema: { name: z.string() } },
    ({ name }) => `Hello, ${name}!`,
  )
  server.registerTool(
    'slow_compute',
    {
      description: 'Takes its time',
      inputSchema: { seconds: z.number().optional(), label: z.string().optional() },
      ...optional,
    },
    async ({ seconds = 1, label = 'result' }, ctx) => {
      await sleep(seconds * 1000, undefined, { signal: ctx.signal })
      return `${label}: computed in ${seconds} s`
    },
  )
  server.registerTool('failing_job', { description: 'Fails after a while', ...required }, async () => {
    await sleep(1000)
    throw new Error('The job failed')
  })
  server.registerTool('protocol_error_job', { description: 'Breaks after a while', ...required }, async () => {
    await sleep(100)
    throw new ProtocolError(ErrorCode.InternalError, 'The job broke')
  })
  server.registerTool(
    'confirm_delete',
    { description: 'Asks before it deletes', inputSchema: { filename: z.string() }, ...optional },
    async ({ filename }, ctx) => {
      const { content } = await ctx.elicit(`Delete ${filename}?`, z.object({ confirm: z.boolean() }))
      return content?.confirm ? `Deleted ${filename}` : `Kept ${filename}`
    },
  )
  server.registerTool(
    'multi_input',
    { description: 'Asks for two things at once', ...optional },
    async (_args, ctx) => {
      const [name, confirm] = await Promise.all([
        ctx.elicit('What is your name?', z.object({ name: z.string() })),
        ctx.elicit('Are you sure?', z.object({ confirm: z.boolean() })),
      ])
      return `${name.content?.name}: ${confirm.content?.confirm}`
    },
  )
  const early = { description: 'Asks before it becomes a task', ...required, taskPolicy: { afterMs: 200 } }
  server.registerTool('test_tool_with_task', early, async (_args, ctx) => {
    const { content } = await ctx.elicit('What is your name?', z.object({ name: z.string() }), { key: 'user_name' })
    await sleep(300)
    return `Hello, ${content?.name}!`
  })
}

function registerResources() {
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'Text that never changes', mimeType: 'text/plain' },
    () => 'This is the content of the static text resource.',
  )
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'An image that never changes', mimeType: 'image/png' },
    () => Buffer.from(png, 'base64'),
  )
  server.registerResource(
    'watched-resource',
    'test://watched-resource',
    { description: 'Something to subscribe to', mimeType: 'text/plain' },
    () => 'Watched resource content',
  )
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data'),
    { description: 'One resource for each id', mimeType: 'application/json' },
    (_uri, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  )
}

function registerPrompts() {
  server.registerPrompt(
    'test_simple_prompt',
    { description: 'Text without arguments' },
    () => 'This is a simple prompt for testing.',
  )
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'Text with two arguments',
      argsSchema: {
        arg1: completable(z.string().describe('First test argument'), (typed) =>
          ['testValue1', 'otherValue1'].filter((value) => value.startsWith(typed)),
        ),
        arg2: z.string().describe('Second test argument'),
      },
    },
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A resource to look at', argsSchema: { resourceUri: z.string().describe('URI of the resource') } },
    ({ resourceUri }) => ({
      messages: [
        { role: 'user', content: embedded(resourceUri, 'Embedded resource content for testing.') },
        { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
      ],
    }),
  )
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks what it is about' },
    async (_args, ctx) => {
      const schema = z.object({ context: z.string() })
      const { content } = await ctx.elicit('What is it about?', schema, { key: 'user_context' })
      return `Use this: ${content?.context}`
    },
  )
  server.registerPrompt('test_prompt_with_image', { description: 'An image to look at' }, () => ({
    messages: [
      { role: 'user', content: image },
      { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
    ],
  }))
}

function tool(name, description, handler) {
  server.registerTool(name, { description }, handler)
}

function embedded(uri, text, mimeType = 'text/plain') {
  return { type: 'resource', resource: { uri, mimeType, text } }
}
