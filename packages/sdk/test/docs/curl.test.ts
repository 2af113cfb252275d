import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'

const page = readFileSync(new URL('../../../../docs/http.md', import.meta.url), 'utf8')
const hasCurl = spawnSync('curl', ['--version']).status === 0

describe('the curl example in docs/http.md', () => {
  it.skipIf(!hasCurl)('prints the response that follows it', async () => {
    const server = new McpServer({ name: 'greeter', version: '1.0.0' })
    server.registerTool('greet', {}, (_args, ctx) => `Hello, ${ctx.caller.clientInfo?.name}!`)
    await using http = await serveHttp(server, { port: 0, exit: false })
    const command = block('sh').replace('127.0.0.1:3000', `127.0.0.1:${http.port}`)
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command.trimEnd()} --silent --noproxy '*'`])
    expect(JSON.parse(stdout)).toMatchObject(JSON.parse(block('json')))
  })
})

function block(language: string): string {
  const found = page.match(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm'))
  if (!found) throw new Error(`docs/http.md has no ${language} block`)
  return found[1]!
}
