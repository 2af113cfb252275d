import { fileURLToPath } from 'node:url'
import { type ElicitContent, revisionIds } from 'tenon'
import { type Client, connect, type FormQuestion } from 'tenon/client'

/** Starts the demo server as a child process, once per revision, and shows what each conversation gave. */
const program = { command: process.execPath, args: [fileURLToPath(new URL('./stdio.js', import.meta.url))] }

const rows: Record<string, string>[] = []
for (const revision of revisionIds) {
  await using client = await connect(program, {
    revision,
    handlers: { elicit: ({ requestedSchema }) => ({ action: 'accept', content: planFor(requestedSchema) }) },
  })
  rows.push({ revision: client.revision, ...(await tryEverything(client)) })
}
printTable(rows)

/** Clients of 2025-06-18 tick a box for each choice. */
function planFor({ properties }: FormQuestion['requestedSchema']): ElicitContent {
  return 'tasks' in properties ? { tasks: ['rest'] } : { 'tasks: rest': true }
}

async function tryEverything(client: Client): Promise<Record<string, string>> {
  const tools = await client.listTools().all()
  const resources = await client.listResources().all()
  const echo = await client.callTool('echo', { text: 'hello' })
  const add = await client.callTool('add', { a: 19, b: 23 })
  let steps = 0
  await client.callTool('sleep', { ms: 50 }, { onProgress: () => steps++ })
  const stopped = await cancelled(client)
  const plan = await client.callTool('plan_day')
  const note = await client.readResource('note://today')
  const prompt = await client.getPrompt('review', { code: 'let x = 1' })
  const { values } = await client.complete({
    ref: { type: 'ref/prompt', name: 'review' },
    argument: { name: 'language', value: 'ty' },
  })
  return {
    tools: tools.map((tool) => tool.name).join(' '),
    echo: echo.text,
    add: add.text,
    progress: `${steps} steps`,
    cancel: stopped,
    asks: plan.isError ? 'cannot' : plan.text.replace('Written: ', ''),
    resources: String(resources.length),
    note: String((note.contents[0] as { text: string }).text),
    prompt: `${prompt.messages.length} message`,
    completion: values.join(' '),
  }
}

async function cancelled(client: Client): Promise<string> {
  const stop = new AbortController()
  const call = client.callTool('sleep', { ms: 60_000 }, { signal: stop.signal })
  setTimeout(() => stop.abort(), 20)
  return call.then(
    () => 'no',
    (error) => error.code,
  )
}

function printTable(table: Record<string, string>[]): void {
  const columns = Object.keys(table[0]!)
  const widths = columns.map((column) => Math.max(column.length, ...table.map((row) => row[column]!.length)))
  const line = (cells: string[]) => cells.map((cell, index) => cell.padEnd(widths[index]!)).join('  ')
  console.log(line(columns))
  console.log(widths.map((width) => '─'.repeat(width)).join('  '))
  for (const row of table) console.log(line(columns.map((column) => row[column]!)))
}
