import { fileURLToPath } from 'node:url'
import { type ElicitContent, revisionIds } from 'tenon'
import { type Client, connect, type ElicitFormRequest } from 'tenon/client'

/** Starts the demo server as a child process, once per revision, and shows what each conversation gave. */
const program = { command: process.execPath, args: [fileURLToPath(new URL('./stdio.js', import.meta.url))] }

const found: Record<string, string>[] = []
for (const revision of revisionIds) {
  await using client = await connect(program, {
    revision,
    handlers: { elicit: ({ requestedSchema }) => ({ action: 'accept', content: planFor(requestedSchema) }) },
  })
  found.push({ revision: client.revision, ...(await tryEverything(client)) })
}
printTable(found)

/** Clients of 2025-06-18 tick a box for each choice. */
function planFor({ properties }: ElicitFormRequest['requestedSchema']): ElicitContent {
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
    tools: String(tools.length),
    echo: echo.text,
    'add 19 23': String(JSON.parse(add.text).result),
    progress: `${steps} steps`,
    cancel: stopped,
    'ask user': plan.isError ? 'cannot' : 'answered',
    resources: String(resources.length),
    read: `${(note.contents[0] as { text: string }).text.length} chars`,
    prompt: `${prompt.messages.length} message`,
    complete: values.join(' '),
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

/** One column per revision, so that it fits into 80 columns. */
function printTable(table: Record<string, string>[]): void {
  const lines = Object.keys(table[0]!).map((name) => [name, ...table.map((column) => column[name]!)])
  const widths = lines[0]!.map((_, index) => Math.max(...lines.map((cells) => cells[index]!.length)))
  for (const [index, cells] of lines.entries()) {
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    if (index === 0) console.log(widths.map((width) => '─'.repeat(width)).join('  '))
  }
}
