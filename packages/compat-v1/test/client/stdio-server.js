// A server of 2025-11-25 without any library.
process.stderr.write('started\n')

const answers = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'plain', version: '1' },
  }),
  ping: () => ({}),
  'tools/call': ({ name }) => {
    if (name === 'exit') process.exit(3)
    return { content: [{ type: 'text', text: JSON.stringify(process.env) }] }
  },
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  for (const line of lines) answer(JSON.parse(line))
})
process.stdin.on('end', () => process.exit(0))

function answer({ id, method, params }) {
  if (id === undefined) return
  const result = answers[method]?.(params ?? {})
  const error = { code: -32601, message: 'Method not found' }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })}\n`)
}
