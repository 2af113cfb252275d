import { describe, expect, it } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import type { PolicyRule } from '../../src/host/policy.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { serverWith } from './support.ts'

const allowed: PolicyRule[] = [{ kind: ['connect', 'definitions'], decide: 'allow' }, { decide: 'allow' }]

function withPrompt(): McpServer {
  const server = new McpServer({ name: 'prompts', version: '1.0.0' })
  server.registerPrompt('review', {}, () => 'Review this')
  return server
}

describe('a name of the catalog in a rule of the policy', () => {
  it('denies the tool that host.tools() lists under this name', async () => {
    const policy: PolicyRule[] = [{ tool: 'files_delete_file', decide: 'deny' }, ...allowed]
    await using host = await createHost({ servers: { files: { server: serverWith('delete_file', 'read') } }, policy })
    await expect(host.callTool('files_delete_file')).rejects.toThrow('rule 1 of the policy')
    expect((await host.callTool('files_read')).text).toBe('read ran')
  })

  it('denies a tool whose name in the catalog has a suffix, and one of a server without a prefix', async () => {
    const servers = {
      git: { server: serverWith('hub_push') },
      git_hub: { server: serverWith('push') },
      plain: { server: serverWith('read'), prefix: false },
    }
    await using listing = await createHost({ servers, policy: allowed })
    const names = (await listing.tools()).map(({ name }) => name)
    const suffixed = names.find((name) => name.startsWith('git_hub_push__')) ?? 'none'
    const policy: PolicyRule[] = [{ tool: [suffixed, 'read'], decide: 'deny' }, ...allowed]
    await using host = await createHost({ servers, policy })
    await expect(host.callTool(suffixed)).rejects.toThrow('rule 1 of the policy')
    await expect(host.callTool('read')).rejects.toThrow('rule 1 of the policy')
    expect((await host.callTool('git_hub_push')).text).toBe('push ran')
  })

  it('denies the prompt and the results that have this name', async () => {
    const policy: PolicyRule[] = [
      { prompt: 'texts_review', decide: 'deny' },
      { kind: 'result', tool: 'files_read', decide: 'deny' },
      { kind: 'result', prompt: 'other_*', decide: 'deny' },
      ...allowed,
    ]
    const servers = {
      texts: { server: withPrompt() },
      other: { server: withPrompt() },
      files: { server: serverWith('read') },
    }
    await using host = await createHost({ servers, policy })
    await expect(host.getPrompt('texts_review')).rejects.toThrow('rule 1 of the policy')
    await expect(
      host.complete({ ref: { type: 'ref/prompt', name: 'texts_review' }, argument: { name: 'a', value: '' } }),
    ).rejects.toThrow('rule 1 of the policy')
    await expect(host.getPrompt('other_review')).rejects.toThrow('held back: rule 3 of the policy')
    expect((await host.callTool('files_read')).text).toContain('held back: rule 2 of the policy')
  })
})
