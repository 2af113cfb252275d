import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import type { PolicyRule } from '../../src/host/policy.ts'
import { document } from './support.ts'

const servers = { mail: { server: document('a') }, web: { server: document('b') } }

describe('a server in a rule of the policy', () => {
  it.each<{ rule: PolicyRule; message: string }>([
    {
      rule: { server: 'wbe', decide: 'deny' },
      message:
        'policy[1].server names the server "wbe", which is not configured. Did you mean "web"? Servers are: mail, web.',
    },
    {
      rule: { from: 'mial', server: 'web', decide: 'deny' },
      message:
        'policy[1].from names the server "mial", which is not configured. Did you mean "mail"? Servers are: mail, web.',
    },
    {
      rule: { server: ['web', 'calendar'], decide: 'ask' },
      message: 'policy[1].server names the server "calendar", which is not configured. Servers are: mail, web.',
    },
    {
      rule: { kind: 'result', server: 'Web', decide: 'allow' },
      message:
        'policy[1].server names the server "Web", which is not configured. Did you mean "web"? Servers are: mail, web.',
    },
  ])('has to be configured: $message', async ({ rule, message }) => {
    await expect(createHost({ servers, policy: [{ decide: 'ask' }, rule] })).rejects.toThrow(new TypeError(message))
  })

  it('is checked before a store or an audit log is opened', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenon-'))
    try {
      const audit = join(folder, 'audit.jsonl')
      const policy = [{ server: 'wbe', decide: 'deny' }] as const
      await expect(createHost({ servers, policy, audit })).rejects.toThrow('wbe')
      expect(existsSync(audit)).toBe(false)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('may be a pattern, disabled, or one that is added later', async () => {
    const policy: PolicyRule[] = [
      { server: 'git*', decide: 'deny' },
      { from: '*', server: 'off', decide: 'deny' },
      { server: ['calendar', 'team-a'], decide: 'deny' },
    ]
    const off = { server: document('c'), disabled: true }
    await using _host = await createHost({
      servers: { ...servers, off },
      policy,
      laterServers: ['calendar', 'team-*'],
    })
    await expect(createHost({ servers: { ...servers, off }, policy, laterServers: ['calendar'] })).rejects.toThrow(
      'policy[2].server names the server "team-a"',
    )
  })

  it('is reported by the event error if a new configuration has no such server', async () => {
    const policy: PolicyRule[] = [
      { from: 'mail', server: 'web', decide: 'deny' },
      { server: 'web', decide: 'allow' },
    ]
    await using host = await createHost({ servers, policy })
    const reported: string[] = []
    host.on('error', ({ error }) => reported.push((error as Error).message))
    await host.configure({ mail: servers.mail, wbe: servers.web })
    expect(reported).toEqual([
      'policy[0].server names the server "web", which is not configured. Did you mean "wbe"? Servers are: mail, wbe.',
      'policy[1].server names the server "web", which is not configured. Did you mean "wbe"? Servers are: mail, wbe.',
    ])
    expect(host.servers.map(({ id }) => id)).toEqual(['mail', 'wbe'])
  })
})
