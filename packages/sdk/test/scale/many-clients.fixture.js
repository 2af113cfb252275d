// One definition, a thousand clients of mixed revisions at once, a hundred interleaved calls each. Prints what came of it.
import { revisionIds } from 'tenon'
import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'

const clients = 1_000
const calls = 100

const server = new McpServer({ name: 'many', version: '1.0.0' })
const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
server.registerTool('echo', { inputSchema }, async ({ text }) => {
  // Answers overtake each other.
  if (text.length % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
  return text
})

// Compiled code is on the heap too: let it settle before measuring.
for (let times = 0; times < 5; times++) await round(200)
const before = heap()
const { wrong, answered } = await round(clients)
const after = heap()
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

function heap() {
  for (let times = 0; times < 5; times++) globalThis.gc()
  return process.memoryUsage().heapUsed
}
