import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import { memoryHostStore } from '../../src/host/host-store.ts'
import type { PolicyRule } from '../../src/host/policy.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { document, echo, serverWith } from './support.ts'

const allow: PolicyRule[] = [{ decide: 'allow' }]
const text = 'The meeting is on Thursday at nine in the small room.'

describe("the rule { decide: 'allow' }", () => {
  it('covers tools, prompts, resources and roots', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenon-allow-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const server = new McpServer({ name: 'all', version: '1.0.0' })
    server.registerTool('roots', {}, async (_args, ctx) => JSON.stringify(await ctx.roots()))
    server.registerPrompt('greet', {}, () => 'Hello')
    server.registerResource('plan', 'notes://plan', {}, () => 'Buy milk')
    // A path is as good as a URI.
    await using host = await createHost({ servers: { s: { server } }, policy: allow, roots: [folder] })
    expect(host.roots).toEqual([{ uri: pathToFileURL(folder).href }])
    expect((await host.callTool('s_roots')).text).toContain(pathToFileURL(folder).href)
    expect((await host.getPrompt('s_greet')).messages).toHaveLength(1)
    expect((await host.readResource('notes://plan')).contents).toHaveLength(1)
  })

  it('does not cover connections, and the error names the rule that does [HOST-009]', async () => {
    await using host = await createHost({ servers: { web: { url: 'http://127.0.0.1:1/mcp' } }, policy: allow })
    expect(await host.tools()).toEqual([])
    expect(String(host.servers[0]?.error)).toContain(
      'there is no user to ask (approve). A rule that allows it: {"kind":"connect","server":"web","decide":"allow"}',
    )
  })

  it('does not cover changed definitions, and the error names the rule that does', async () => {
    const store = memoryHostStore()
    const first = await createHost({ servers: { s: { server: serverWith('read') } }, policy: allow, store })
    await first.tools()
    await first.close()
    const servers = { s: { server: serverWith('read2') } }
    const rule: PolicyRule = { kind: 'definitions', server: 's', decide: 'allow' }
    const second = await createHost({ servers, policy: allow, store })
    expect(await second.tools()).toEqual([])
    expect(String(second.servers[0]?.error)).toContain(`A rule that allows it: ${JSON.stringify(rule)}`)
    await second.close()
    await using third = await createHost({ servers, policy: [...allow, rule], store })
    expect(await third.tools()).toHaveLength(1)
  })

  it('is not proposed for a call that a rule asks about', async () => {
    const policy: PolicyRule[] = [{ tool: 'web_echo', decide: 'ask' }, ...allow]
    await using host = await createHost({ servers: { web: { server: echo() } }, policy })
    const error = await host.callTool('web_echo', { text }).catch((reason) => reason)
    expect(error.message).toContain('there is no user to ask (approve)')
    expect(error.message).not.toContain('A rule that allows it')
  })

  it('does not cover data of other servers, and the error names the rule that does [HOST-013]', async () => {
    const servers = { mail: { server: document(text) }, web: { server: echo() } }
    const rule: PolicyRule = { from: ['mail'], server: 'web', decide: 'allow' }
    const send = async (policy: PolicyRule[]) => {
      await using host = await createHost({ servers, policy })
      const { text } = await host.callTool('mail_read')
      return (await host.callTool('web_echo', { text })).text
    }
    await expect(send(allow)).rejects.toThrow(`A rule that allows it: ${JSON.stringify(rule)}`)
    expect(await send([...allow, rule])).toBe(text)
    expect(await send([...allow, { from: '*', decide: 'allow' }])).toBe(text)
  })
})
