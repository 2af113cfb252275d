import { fileURLToPath } from 'node:url'
import { connect } from 'tenon/client'
import { terminalHandlers } from 'tenon/client/terminal'

/** Starts the demo server and calls the tool that asks; the person at the terminal answers. */
const program = { command: process.execPath, args: [fileURLToPath(new URL('./stdio.js', import.meta.url))] }

await using client = await connect(program, { handlers: terminalHandlers() })
const { text } = await client.callTool('plan_day')
console.log(`\nThe tool says: ${text}`)
