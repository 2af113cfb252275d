import { setTimeout as sleep } from 'node:timers/promises'
import { completable, McpServer, ResourceTemplate } from 'tenon/server'
import { sqliteStore } from 'tenon/stores/sqlite'
import { tasks } from 'tenon/tasks'
import * as z from 'zod'
import { Notes } from './notes.ts'

const database = process.env.TENON_DEMO_DB ?? ':memory:'
const notes = new Notes(database)
/** Beside the notes, so that a task goes on when the server was stopped in the middle of it. */
const store = sqliteStore(database === ':memory:' ? database : `${database}-tasks`)

/** One definition; whoever connects, on whatever revision, gets the same server. */
export const server = new McpServer(
  { name: 'demo', version: '1.0.0', title: 'Tenon demo' },
  {
    instructions:
      'A small server to try things on: echo, add, sleep, notes in a database, a tool that asks, a long task, and a prompt.',
    tasks: tasks({ store: store.tasks }),
  },
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

server.registerTool(
  'write_note',
  {
    title: 'Write a note',
    description: 'Keeps a note; whoever listens is told',
    inputSchema: { day: z.string().regex(/^[a-z0-9-]{1,40}$/), text: z.string().max(10_000) },
    annotations: { idempotentHint: true, destructiveHint: false },
  },
  ({ day, text }, ctx) => {
    const isNew = notes.read(day) === undefined
    notes.write({ day, text })
    ctx.log.info(`note://${day} was written`)
    if (isNew) server.sendResourceListChanged()
    server.sendResourceUpdated(`note://${day}`)
    return `Written: note://${day}`
  },
)

server.registerTool(
  'search_notes',
  {
    title: 'Search notes',
    description: 'Finds notes by a part of their text',
    inputSchema: { words: z.string() },
    outputSchema: { notes: z.array(z.object({ day: z.string(), text: z.string() })) },
    annotations: { readOnlyHint: true },
  },
  ({ words }) => ({ notes: notes.search(words) }),
)

server.registerTool(
  'plan_day',
  { title: 'Plan a day', description: 'Asks the user what to do, and keeps it as a note' },
  async (_args, ctx) => {
    const plan = z.object({
      day: z.string().min(1).max(40).default('tomorrow').describe('A short name for the day'),
      tasks: z.array(z.enum(['read', 'write', 'rest'])).min(1),
      hours: z.number().int().min(1).max(12).default(4),
    })
    const first = await ctx.elicit('What shall the day look like?', plan)
    if (first.action !== 'accept') return 'No plan, then.'
    const { day, tasks, hours } = first.content
    const text = `${hours} h: ${tasks.join(', ')}`
    const sure = notes.read(day) === undefined ? undefined : await ctx.elicit(`Replace the note of ${day}?`)
    if (sure && sure.action !== 'accept') return `The note of ${day} stays.`
    notes.write({ day, text })
    server.sendResourceUpdated(`note://${day}`)
    return `Written: note://${day} (${text})`
  },
)

server.registerTool(
  'proofread',
  {
    title: 'Proofread the notes',
    description: 'Reads every note slowly and asks whether to sign them: a task to start, watch, answer and cancel',
    inputSchema: { seconds: z.number().min(0).max(60).default(1).describe('For each note') },
    execution: { taskSupport: 'optional' },
  },
  async ({ seconds }, ctx) => {
    const all = await ctx.once('notes', () => notes.list())
    for (const [index, { day, text }] of all.entries()) {
      await ctx.once(`read ${day}`, async () => {
        ctx.progress(index, { total: all.length, message: `Reading ${day}` })
        await sleep(seconds * 1000, undefined, { signal: ctx.signal })
        return text.length
      })
    }
    if (!ctx.can('elicit')) return `${all.length} notes read. Nobody could be asked whether to sign them.`
    const answer = await ctx.elicit(`${all.length} notes are fine. Sign them?`, z.object({ name: z.string().min(1) }))
    if (answer.action !== 'accept') return 'Read, and not signed.'
    await ctx.once('sign', () => notes.write({ day: 'signed', text: `Proofread by ${answer.content.name}` }))
    return `${all.length} notes were proofread by ${answer.content.name}.`
  },
)

server.registerResource(
  'about',
  'demo://about',
  { title: 'About', mimeType: 'text/plain' },
  () => 'One server, five revisions.',
)

server.registerResource(
  'note',
  new ResourceTemplate('note://{day}', {
    list: () => notes.list().map(({ day }) => ({ uri: `note://${day}`, name: day })),
    complete: { day: (typed) => notes.list().flatMap(({ day }) => (day.startsWith(typed) ? [day] : [])) },
  }),
  { title: 'Note', mimeType: 'text/plain' },
  (_uri, { day }) => notes.read(String(day)),
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
