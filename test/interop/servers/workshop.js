import * as z from 'zod'

export const info = { name: 'workshop', version: '1.2.3' }
export const instructions = 'A workshop with a bit of everything.'

/** A 1x1 PNG and the shortest WAV; their contents do not matter. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const woods = { hard: ['oak', 'ash'], soft: ['pine', 'fir'] }
const planks = ['oak', 'ash', 'pine', 'fir']

// Some SDKs create a server for every request, so the state shared between calls is kept here.
let stopped = 0
let goOn = () => {}
const grown = new Set()

/**
 * Defines the same server with every SDK, so that the same tests run for all pairs.
 *
 * @param server An `McpServer` of any SDK.
 * @param sdk The differences between SDKs: `ResourceTemplate`, `completable`, `updated(uri)`, `grown(what)` if the
 *   server does not notify by itself, and `acts(ctx)`, which returns `{ signal, progress(n, total, message),
 *   log(level, data) }`.
 */
export function defineWorkshop(server, sdk) {
  defineTools(server, sdk)
  defineLongTools(server, sdk)
  defineChangingTools(server, sdk)
  defineResources(server, sdk)
  definePrompts(server, sdk)
}

function defineTools(server) {
  server.registerTool(
    'greet',
    { title: 'Greet', description: 'Says hello', inputSchema: z.object({ name: z.string() }) },
    async ({ name }) => ({ content: [{ type: 'text', text: `Hello, ${name}!` }] }),
  )
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ result: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ a, b }) => {
      const output = { result: a + b }
      return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output }
    },
  )
  server.registerTool('fail', { inputSchema: z.object({}) }, async () => {
    throw new Error('The saw is blunt')
  })
  server.registerTool('show', { inputSchema: z.object({}) }, async () => ({
    content: [
      { type: 'text', text: 'All kinds' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'shop://about', mimeType: 'text/plain', text: 'A workshop' } },
      { type: 'audio', data: wav, mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'shop://plank/oak', name: 'oak' },
    ],
  }))
  server.registerTool('pid', { inputSchema: z.object({}) }, async () => ({
    content: [{ type: 'text', text: String(process.pid) }],
  }))
  server.registerTool('cling', { description: 'Ends only by force', inputSchema: z.object({}) }, async () => {
    process.on('SIGTERM', () => {})
    setInterval(() => {}, 1000)
    return { content: [{ type: 'text', text: String(process.pid) }] }
  })
}

function defineLongTools(server, { acts }) {
  server.registerTool(
    'work',
    {
      description: 'Tells of each step; when patient, goes on only after the tool "go" was called',
      inputSchema: z.object({ steps: z.number(), patient: z.boolean() }),
    },
    async ({ steps, patient }, ctx) => {
      const { progress } = acts(ctx)
      for (let step = 1; step <= steps; step++) {
        const heard = new Promise((resolve) => {
          goOn = resolve
        })
        await progress(step, steps, `step ${step}`)
        if (patient) await heard
      }
      return { content: [{ type: 'text', text: `${steps} steps` }] }
    },
  )
  server.registerTool('go', { inputSchema: z.object({}) }, async () => {
    goOn()
    return { content: [] }
  })
  server.registerTool('wait', { description: 'Until it is cancelled', inputSchema: z.object({}) }, async (_, ctx) => {
    const { signal, progress } = acts(ctx)
    const aborted = new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(stopped++))
    })
    await progress(1)
    await aborted
    return { content: [] }
  })
  server.registerTool('stopped', { inputSchema: z.object({}) }, async () => ({
    content: [{ type: 'text', text: String(stopped) }],
  }))
  server.registerTool('chatter', { inputSchema: z.object({}) }, async (_, ctx) => {
    const { log } = acts(ctx)
    for (const level of ['debug', 'warning', 'error']) await log(level, { said: level })
    return { content: [] }
  })
}

function defineChangingTools(server, sdk) {
  server.registerTool('touch', { inputSchema: z.object({ uri: z.string() }) }, async ({ uri }) => {
    await sdk.updated(uri)
    return { content: [] }
  })
  const more = {
    tool: () => server.registerTool('late', { inputSchema: z.object({}) }, async () => ({ content: [] })),
    prompt: () =>
      server.registerPrompt('late', {}, async () => ({
        messages: [{ role: 'user', content: { type: 'text', text: 'late' } }],
      })),
    resource: () =>
      server.registerResource('late', 'shop://late', {}, async (uri) => ({
        contents: [{ uri: uri.href, text: 'late' }],
      })),
  }
  server.registerTool(
    'grow',
    { inputSchema: z.object({ what: z.enum(['tool', 'prompt', 'resource']) }) },
    async ({ what }) => {
      more[what]()
      grown.add(what)
      sdk.grown?.(what)
      return { content: [] }
    },
  )
  for (const what of grown) more[what]()
}

function defineResources(server, { ResourceTemplate }) {
  server.registerResource(
    'about',
    'shop://about',
    { title: 'About', description: 'What this is', mimeType: 'text/plain' },
    async (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'A workshop' }] }),
  )
  server.registerResource('picture', 'shop://picture', { mimeType: 'image/png' }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'image/png', blob: png }],
  }))
  const template = new ResourceTemplate('shop://plank/{wood}', {
    list: async () => ({ resources: planks.map((wood) => ({ uri: `shop://plank/${wood}`, name: wood })) }),
    complete: { wood: (typed) => planks.filter((wood) => wood.startsWith(typed)) },
  })
  server.registerResource('plank', template, { description: 'A plank' }, async (uri, { wood }) => ({
    contents: [{ uri: uri.href, text: `A plank of ${wood}` }],
  }))
}

function definePrompts(server, { completable }) {
  server.registerPrompt(
    'plan',
    {
      title: 'Plan',
      description: 'Plans a piece of work',
      argsSchema: {
        kind: completable(z.string().describe('hard or soft'), (typed) =>
          Object.keys(woods).filter((kind) => kind.startsWith(typed)),
        ),
        wood: completable(z.string(), (typed, context) =>
          (woods[context?.arguments?.kind] ?? planks).filter((wood) => wood.startsWith(typed)),
        ),
        length: z.string().optional(),
      },
    },
    async ({ kind, wood, length = 'any' }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: `Plan something: ${kind} ${wood}, ${length} length` } },
        { role: 'assistant', content: { type: 'text', text: 'A stool.' } },
      ],
    }),
  )
}
