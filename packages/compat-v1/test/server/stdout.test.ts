import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

it('lets a program write messages of its own to stdout, as proxies do', async () => {
  const stdio = fileURLToPath(new URL('../../dist/esm/server/stdio.js', import.meta.url))
  const program = `
    import { StdioServerTransport } from ${JSON.stringify(stdio)}
    const transport = new StdioServerTransport()
    transport.onmessage = ({ id }) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: {} }) + '\\n')
    await transport.start()`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`)
  const [line] = await once(child.stdout, 'data')
  expect(JSON.parse(String(line))).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  child.kill()
})
