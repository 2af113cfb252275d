import { setTimeout as sleep } from 'node:timers/promises'
import { completable, McpServer, ResourceTemplate } from 'tenon/server'
import * as z from 'zod'

/** One definition; whoever connects, on whatever revision, gets the same server. */
export const server = new McpServer(
  { name: 'demo', version: '1.0.0', title: 'Tenon demo' },
  { instructions: 'A small server to try things on: echo, add, sleep, notes and a prompt.' },
)

server.registerTool(
  'echo',
  { title: 'Echo', description: 'Says it again', inputSchema: { text: z.string() } },
  ({ text }) => text,
)

server.registerTool(
  'add',
  {
    title: 'Addition',
    description: 'Adds two numbers',
    inputSchema: { a: z.number(), b: z.number() },
    outputSchema: { result: z.number() },
    annotations: { readOnlyHint: true },
  },
  ({ a, b }) => ({ result: a + b }),
)

server.registerTool(
  'sleep',
  {
    title: 'Sleep',
    description: 'Takes its time, tells how far it is, and stops when it is cancelled',
    inputSchema: { ms: z.number().int().min(0).max(60_000) },
  },
  async ({ ms }, ctx) => {
    const steps = 5
    for (let step = 1; step <= steps; step++) {
      await sleep(ms / steps, undefined, { signal: ctx.signal })
      ctx.progress(step, { total: steps, message: `${step} of ${steps}` })
    }
    return `Slept ${ms} ms.`
  },
)

const notes = new Map([
  ['today', 'Write the README first.'],
  ['tomorrow', 'Then make it true.'],
])

server.registerResource(
  'about',
  'demo://about',
  { title: 'About', mimeType: 'text/plain' },
  () => 'One server, five revisions.',
)

server.registerResource(
  'note',
  new ResourceTemplate('note://{day}', {
    list: () => [...notes.keys()].map((day) => ({ uri: `note://${day}`, name: day })),
    complete: { day: (typed) => [...notes.keys()].filter((day) => day.startsWith(typed)) },
  }),
  { title: 'Note', mimeType: 'text/plain' },
  (_uri, { day }) => notes.get(String(day)),
)

server.registerPrompt(
  'review',
  {
    title: 'Review code',
    description: 'Asks for a review',
    argsSchema: {
      code: z.string().describe('The code to read'),
      language: completable(z.string().optional(), (typed) =>
        ['javascript', 'python', 'typescript'].filter((name) => name.startsWith(typed)),
      ),
    },
  },
  ({ code, language }) => `Please review this${language ? ` ${language}` : ''} code:\n\n${code}`,
)
