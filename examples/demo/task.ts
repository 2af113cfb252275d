import { fileURLToPath } from 'node:url'
import { connect } from 'tenon/client'
import { terminalHandlers } from 'tenon/client/terminal'

/** Starts the demo server and has it proofread its notes as a task: watched here, answered by the person at the terminal. */
const program = { command: process.execPath, args: [fileURLToPath(new URL('./stdio.js', import.meta.url))] }

await using client = await connect(program, { handlers: terminalHandlers() })
const task = await client.callToolAsTask('proofread', { seconds: 1 })
console.log(`The task ${task.id} was started. Ctrl-C cancels it.`)
process.once('SIGINT', () => void task.cancel())

for await (const { status, statusMessage } of task) {
  // The form is on the screen by now, and waits for what the user types.
  if (status === 'input_required') continue
  console.log(`  ${status}${statusMessage ? `: ${statusMessage}` : ''}`)
}
const result = await task.result().catch((error: Error) => ({ text: error.message }))
console.log(`The tool says: ${result.text}`)
