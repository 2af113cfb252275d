import { answer } from './bare-answers.js'

// The baseline: the minimum that a stdio server can do. One parse and one stringify per message, no checks, one write
// for all responses to one chunk of input.

// A long message arrives in many chunks; they are joined once, when its newline has arrived.
let parts = []
process.stdin.on('data', (chunk) => {
  const last = chunk.lastIndexOf(10)
  if (last === -1) {
    parts.push(chunk)
    return
  }
  let bytes = last === chunk.length - 1 ? chunk : chunk.subarray(0, last + 1)
  if (parts.length > 0) {
    parts.push(bytes)
    bytes = Buffer.concat(parts)
    parts = []
  }
  if (last !== chunk.length - 1) parts.push(chunk.subarray(last + 1))

  const text = bytes.toString()
  let answers = ''
  for (let from = 0, end = text.indexOf('\n'); end !== -1; from = end + 1, end = text.indexOf('\n', from)) {
    const request = JSON.parse(text.slice(from, end))
    if (request.id === undefined) continue
    answers += `${JSON.stringify({ jsonrpc: '2.0', id: request.id, result: answer(request) })}\n`
  }
  if (answers !== '') process.stdout.write(answers)
})
