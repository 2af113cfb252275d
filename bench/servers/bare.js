import { echoTool, extraTools, formSchema, listedTool, offersForm, searchSchema, serverInfo } from '../definitions.js'

// The yardstick: the least a stdio server can do. One parse and one stringify per message, no checks, one write for
// all answers to one chunk of input.

const revisionKey = 'io.modelcontextprotocol/protocolVersion'
const answerMeta = { 'io.modelcontextprotocol/serverInfo': serverInfo }
const cacheHints = { ttlMs: 0, cacheScope: 'private' }

const tools = [echoTool]
for (let n = 0; n < extraTools; n++) tools.push({ ...listedTool(n), inputSchema: searchSchema })
if (offersForm) tools.push({ name: 'form', description: 'A long form', inputSchema: formSchema })

// A long message arrives in many chunks; they are joined once, when its newline is there.
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

function answer({ method, params }) {
  const stateless = params?._meta?.[revisionKey] !== undefined
  if (method === 'tools/call') {
    const { text = params.arguments.text0 } = params.arguments
    const content = [{ type: 'text', text }]
    return stateless ? { resultType: 'complete', content, _meta: answerMeta } : { content }
  }
  if (method === 'tools/list') {
    return stateless ? { resultType: 'complete', tools, ...cacheHints, _meta: answerMeta } : { tools }
  }
  if (method === 'initialize') {
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
  }
  if (method === 'server/discover') {
    const supportedVersions = ['2026-07-28', '2025-11-25']
    return { resultType: 'complete', supportedVersions, capabilities: { tools: {} }, ...cacheHints, _meta: answerMeta }
  }
  return stateless ? { resultType: 'complete', _meta: answerMeta } : {}
}
