// One server, a thousand concurrent clients of mixed revisions, a hundred interleaved calls each. Prints the outcome.
import { revisionIds } from 'tenon'
import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { endWithParent } from '../kit/end-with-parent.js'

endWithParent()

const clients = 1_000
const calls = 100

const server = new McpServer({ name: 'many', version: '1.0.0' })
const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
server.registerTool('echo', { inputSchema }, async ({ text }) => {
  // Makes responses arrive out of order.
  if (text.length % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
  return text
})

// Warm up: compiled code and grown tables are on the heap too.
for (let times = 0; times < 2; times++) await round(clients)
const before = await heap()
const { wrong, answered } = await round(clients)
const after = await heap()
console.log(JSON.stringify({ clients, calls, answered, wrong, before, after }))

async function round(count) {
  const connected = await Promise.all(
    Array.from({ length: count }, (_, index) => connect(server, { revision: revisionIds[index % revisionIds.length] })),
  )
  let wrong = 0
  let answered = 0
  for (let call = 0; call < calls; call++) {
    const texts = connected.map((_, index) => `${'.'.repeat(index % 7)}client ${index} call ${call}`)
    const results = await Promise.all(connected.map((client, index) => client.callTool('echo', { text: texts[index] })))
    results.forEach((result, index) => {
      answered++
      if (result.text !== texts[index]) wrong++
    })
  }
  await Promise.all(connected.map((client) => client.close()))
  return { wrong, answered }
}

/** Returns the minimum of several measurements, because timers and microtasks hold memory only for a moment. */
async function heap() {
  let least = Number.POSITIVE_INFINITY
  for (let times = 0; times < 10; times++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc()
    least = Math.min(least, process.memoryUsage().heapUsed)
  }
  return least
}
