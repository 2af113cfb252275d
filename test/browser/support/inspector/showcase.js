// A server with something for every view of the inspector. With --http it prints its address, else it speaks stdio.
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer, ResourceTemplate, serveHttp, serveStdio } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { everyPrimitive, everySchema } from './schemas.js'

const server = new McpServer(
  { name: 'showcase', version: '1.0.0', title: 'Showcase' },
  { instructions: 'Call **add** first.', tasks: tasks({ policy: 'never' }) },
)
const object = (properties = {}) => ({ type: 'object', properties, required: Object.keys(properties) })
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC'
const poster = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="1400"><circle cx="1000" cy="700" r="600" fill="teal"/></svg>',
).toString('base64')
const silence = Buffer.concat([
  Buffer.from(
    'RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x08\0\0\0',
    'latin1',
  ),
  Buffer.alloc(8, 128),
]).toString('base64')

console.error('The showcase started')

server.registerTool(
  'add',
  {
    title: 'Add',
    description: 'Adds two numbers',
    inputSchema: object({ a: { type: 'number', description: 'The first number' }, b: { type: 'number' } }),
    outputSchema: object({ sum: { type: 'number' } }),
    annotations: { readOnlyHint: true, idempotentHint: true },
  },
  ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }),
)
server.registerTool('echo', { description: 'Returns its arguments', inputSchema: everySchema }, (args) => ({
  content: [{ type: 'text', text: JSON.stringify(args) }],
}))
server.registerTool('media', { description: 'Every kind of content' }, () => ({
  content: [
    {
      type: 'text',
      text: '# Report\n\nSee [the page](https://example.com/a?b=1) <script>alert(1)</script>\n\n- one\n- **two**',
    },
    { type: 'image', data: dot, mimeType: 'image/png' },
    { type: 'image', data: poster, mimeType: 'image/svg+xml' },
    { type: 'audio', data: silence, mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'notes://readme', name: 'readme', description: 'How to use notes' },
    { type: 'resource', resource: { uri: 'notes://inside', mimeType: 'text/plain', text: 'An embedded note' } },
  ],
}))
server.registerTool('fail', { description: 'Always fails' }, () => {
  throw new Error('It is broken')
})
server.registerTool('work', { description: 'Reports progress until it is cancelled' }, async (_args, ctx) => {
  for (let done = 1; ; done++) {
    await ctx.progress(Math.min(done, 9), { total: 10, message: `step ${done}` })
    await sleep(100, undefined, { signal: ctx.signal })
  }
})
server.registerTool(
  'deploy',
  { description: 'Asks before it deploys', inputSchema: object({ app: { type: 'string' } }) },
  async ({ app }, ctx) => {
    const answer = await ctx.elicit(
      `Deploy ${app}?`,
      object({ environment: { type: 'string', enum: ['staging', 'live'] } }),
    )
    return answer.action === 'accept' ? `${app} is on ${answer.content.environment}` : `Not deployed: ${answer.action}`
  },
)
server.registerTool('survey', { description: 'Asks with every kind of field' }, async (_args, ctx) => {
  const answer = await ctx.elicit('Tell us about you', everyPrimitive)
  return JSON.stringify(answer)
})
server.registerTool('pay', { description: 'Asks to open a page' }, async (_args, ctx) => {
  const { action } = await ctx.elicitUrl('Please pay the invoice', 'https://pay.example.com/invoice?id=42')
  return `Payment: ${action}`
})
server.registerTool('poem', { description: 'Asks the model' }, async (_args, ctx) => {
  const content = { type: 'text', text: 'Write a poem about oak' }
  const { text } = await ctx.sample({
    messages: [{ role: 'user', content }],
    systemPrompt: 'You are a poet',
    maxTokens: 100,
  })
  return `The model wrote: ${text}`
})
server.registerTool('where', { description: 'Lists the roots' }, async (_args, ctx) =>
  JSON.stringify(await ctx.roots()),
)
server.registerTool('chatter', { description: 'Writes logs' }, (_args, ctx) => {
  ctx.log.debug('A detail', 'clock')
  ctx.log.warning({ text: 'It is late' }, 'clock')
  ctx.log.error('It is too late', 'clock')
  return 'Logged'
})
server.registerTool('touch', { description: 'Changes the readme' }, () => {
  server.sendResourceUpdated('notes://readme')
  return 'Touched'
})
server.registerTool('grow', { description: 'Adds a tool' }, () => {
  server.registerTool('grown', { description: 'A new tool' }, () => 'new')
  return 'Grown'
})
server.registerTool(
  'job',
  { description: 'Runs as a task', execution: { taskSupport: 'optional' }, taskPolicy: 'always' },
  async (_args, ctx) => {
    await ctx.progress(1, { total: 3, message: 'one third' })
    const { action } = await ctx.elicit('Go on with the job?', object({ note: { type: 'string' } }))
    return `The job ended: ${action}`
  },
)
server.registerTool(
  'endless-job',
  { description: 'A task that never ends', execution: { taskSupport: 'optional' }, taskPolicy: 'always' },
  async (_args, ctx) => {
    await ctx.progress(2, { total: 5, message: 'two of five' })
    await sleep(600_000, undefined, { signal: ctx.signal })
    return 'never'
  },
)

server.registerResource('readme', 'notes://readme', { mimeType: 'text/markdown' }, () => '# Readme\n\nBuy milk.')
server.registerResource('view', 'ui://view', { mimeType: 'text/html' }, () => '<h1>App</h1><script>alert(1)</script>')
const days = ['monday', 'tuesday', 'thursday']
server.registerResource(
  'day',
  new ResourceTemplate('notes://day/{day}', {
    complete: { day: (typed) => days.filter((day) => day.startsWith(typed)) },
  }),
  {},
  (_uri, { day }) => `The note of ${day}`,
)
server.registerPrompt(
  'review',
  {
    description: 'Reviews code',
    argsSchema: { type: 'object', properties: { language: { type: 'string' } }, required: ['language'] },
    complete: { language: ['python', 'typescript'] },
  },
  ({ language }) => `Review this ${language} code`,
)

if (process.argv.includes('--http')) {
  const http = await serveHttp(server, { port: 0, sse: true })
  console.log(http.url)
} else await serveStdio(server)
