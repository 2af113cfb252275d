import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { ApprovalRequest } from '../../src/host/action.ts'
import { memoryAudit } from '../../src/host/audit/memory.ts'
import type { ServerConfigs } from '../../src/host/config/server-config.ts'
import { createHost } from '../../src/host/host.ts'
import type { HostOptions } from '../../src/host/options.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { eventually } from '../kit/eventually.ts'
import { allowAll, echo, serverWith } from './support.ts'

const fixture = fileURLToPath(new URL('./fixtures/hostile-definitions.mjs', import.meta.url))

function hostile(mode: string): ServerConfigs[string] {
  return { command: process.execPath, args: [fixture, mode] }
}

const connectOnly: HostOptions['policy'] = [{ kind: ['connect', 'tool'], decide: 'allow' }]

/** Counts of requests that the fixture received, which it reports by its tool `counts`. */
async function counts(call: () => Promise<{ text: string }>): Promise<Record<string, number>> {
  return JSON.parse((await call()).text)
}

describe('the definitions of a hostile server', () => {
  it('that differ on every request are asked about once, not in a loop', async () => {
    const asked: ApprovalRequest[] = []
    const approve = async (request: ApprovalRequest) => {
      asked.push(request)
      return 'deny' as const
    }
    await using host = await createHost({
      servers: { bad: hostile('differs'), ok: { server: echo() } },
      policy: connectOnly,
      approve,
    })
    await host.tools()
    // The fixture announces a thousand changes after this call.
    await host.callTool('bad_flood').catch(() => {})
    await eventually(() => host.servers[0]?.state === 'held')
    for (let round = 0; round < 20; round++) await host.callTool('bad_counts').catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(asked.map(({ action }) => action.kind)).toEqual(['definitions'])
    expect((await host.tools()).map(({ name }) => name)).toEqual(['ok_echo'])
  })

  it('that stay the same are not read again for each of thousands of announcements', async () => {
    await using host = await createHost({ servers: { bad: hostile('floods') }, policy: allowAll })
    await host.tools()
    await host.callTool('bad_flood')
    await new Promise((resolve) => setTimeout(resolve, 500))
    const { 'tools/list': lists = 0 } = await counts(() => host.callTool('bad_counts'))
    expect(lists).toBeGreaterThan(1)
    expect(lists).toBeLessThan(20)
  })

  it('that change while the user is asked about a change are read again', async () => {
    const server = serverWith('one')
    const asked: ApprovalRequest[] = []
    const approve = async (request: ApprovalRequest) => {
      asked.push(request)
      if (asked.length === 1) server.registerTool('three', { description: 'Added later' }, () => '')
      return new Promise<'always'>((resolve) => setTimeout(() => resolve('always'), 100))
    }
    await using host = await createHost({ servers: { s: { server } }, policy: connectOnly, approve })
    await host.tools()
    server.registerTool('two', {}, () => '')
    await eventually(async () => (await host.tools()).length === 3)
    expect(asked).toHaveLength(2)
  })

  it.each(['endless', 'endless-empty'])('that never end (%s) do not stop the others', async (mode) => {
    await using host = await createHost({
      servers: { bad: hostile(mode), ok: { server: echo() } },
      policy: allowAll,
      limits: { listTimeoutMs: 200 },
    })
    await eventually(async () => (await host.tools()).some(({ name }) => name === 'ok_echo'))
    expect((await host.callTool('ok_echo', { text: 'x' })).text).toBe('x')
    await eventually(() => host.servers[0]?.state === 'failed')
  })

  it('whose resources never end do not stop the others', async () => {
    await using host = await createHost({
      servers: { bad: hostile('endless-resources'), ok: { server: echo() } },
      policy: allowAll,
    })
    await host.tools()
    expect((await host.resources()).length).toBeLessThan(20_000)
  })

  it('with the same name twice have one entry, the one whose definition is shown', async () => {
    const asked: ApprovalRequest[] = []
    const approve = async (request: ApprovalRequest) => {
      asked.push(request)
      return 'once' as const
    }
    const policy: HostOptions['policy'] = [{ kind: ['connect', 'definitions'], decide: 'allow' }]
    await using host = await createHost({ servers: { bad: hostile('twice') }, policy, approve })
    const [tool, ...more] = await host.tools()
    expect(more).toEqual([])
    await host.callTool('bad_work')
    expect(asked[0]?.action).toMatchObject({ tool: { description: tool?.description } })
  })

  it('with names of Object.prototype are data', async () => {
    const audit = memoryAudit()
    await using host = await createHost({
      servers: { constructor: hostile('prototype'), toString: { server: echo() } },
      policy: allowAll,
      audit,
    })
    const names = (await host.tools()).map(({ originalName }) => originalName)
    expect(names).toEqual(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'echo'])
    for (const { name, originalName } of await host.tools()) {
      const args = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
      if (originalName !== 'echo') expect((await host.callTool(name, args)).text).toContain('__proto__')
    }
    expect((await host.callTool('toString_echo', { text: 'x' })).text).toBe('x')
    await expect(host.callTool('__proto__')).rejects.toMatchObject({ code: 'invalid-argument' })
    await expect(host.connectServer('valueOf')).rejects.toMatchObject({ code: 'invalid-argument' })
    await audit.flush()
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('with huge names keep the catalog usable', async () => {
    await using host = await createHost({ servers: { bad: hostile('huge-names') }, policy: allowAll })
    const tools = await host.tools()
    expect(tools.length).toBeGreaterThan(0)
    for (const { name } of tools) expect(name.length).toBeLessThanOrEqual(64)
    const error = await host.callTool('x'.repeat(1_000_000)).catch((error: Error) => error)
    expect((error as Error).message.length).toBeLessThan(1_000)
  })

  it('lead to a connection that works again after the process died while the user was asked', async () => {
    let answer: (approval: 'once') => void = () => {}
    const approve = async (request: ApprovalRequest) =>
      request.action.kind === 'definitions'
        ? new Promise<'once'>((resolve) => {
            answer = resolve
          })
        : ('once' as const)
    const policy: HostOptions['policy'] = [{ kind: ['connect', 'tool'], decide: 'allow' }]
    await using host = await createHost({
      servers: { bad: hostile('suspicious-and-dies') },
      policy,
      approve,
      limits: { listTimeoutMs: 50 },
    })
    await host.tools()
    await eventually(() => host.servers[0]?.state === 'connecting')
    await new Promise((resolve) => setTimeout(resolve, 600))
    answer('once')
    await eventually(() => host.servers[0]?.state === 'failed' || host.servers[0]?.state === 'ready')
    await eventually(async () => {
      await host.connectServer('bad').catch(() => {})
      return (await host.callTool('bad_work').catch(() => ({ text: '' }))).text.startsWith('work')
    })
  })
})

describe('a server process that dies at once', () => {
  it('is not started again and again', async () => {
    const audit = memoryAudit()
    const servers = { bad: { command: process.execPath, args: ['-e', 'process.exit(1)'] }, ok: { server: echo() } }
    await using host = await createHost({ servers, policy: allowAll, audit })
    for (let round = 0; round < 50; round++) await host.tools()
    for (let round = 0; round < 5; round++) await host.connectServer('bad').catch(() => {})
    for (let round = 0; round < 50; round++) await host.tools()
    await audit.flush()
    const failures = audit.lines.filter((line) => JSON.parse(line).event === 'connect-failed')
    expect(failures.length).toBeLessThan(15)
  })
})

describe('data of one server', () => {
  const secret = 'The quarterly numbers of the company are 42 million, and nobody else may know'
  function source(): McpServer {
    const server = new McpServer({ name: 'mail', version: '1' })
    server.registerTool('read', {}, () => secret)
    return server
  }
  const sink = () => {
    const server = echo()
    server.registerPrompt(
      'write',
      { argsSchema: { type: 'object', properties: { topic: { type: 'string' } } } },
      () => 'Write',
    )
    server.registerResource('page', 'page://one', {}, () => 'page')
    return server
  }
  const open = () => createHost({ servers: { mail: { server: source() }, web: { server: sink() } }, policy: allowAll })

  it.each([
    ['as it is', secret],
    ['in upper case', secret.toUpperCase()],
    ['in base64', Buffer.from(secret).toString('base64')],
    ['in hexadecimal', Buffer.from(secret).toString('hex')],
    ['percent-encoded', [...Buffer.from(secret)].map((byte) => `%${byte.toString(16)}`).join('')],
    ['with other white space', secret.replaceAll(' ', '\n\n')],
    ['half of it', secret.slice(20, 60)],
  ])('is held back from another server (%s)', async (_name, text) => {
    await using host = await open()
    await host.callTool('mail_read')
    await expect(host.callTool('web_echo', { text })).rejects.toMatchObject({ code: 'denied' })
  })

  it('is held back in the arguments of prompts, completions and URIs too', async () => {
    await using host = await open()
    await host.callTool('mail_read')
    await expect(host.getPrompt('web_write', { topic: secret })).rejects.toMatchObject({ code: 'denied' })
    await expect(host.readResource(`page://${encodeURIComponent(secret)}`, { server: 'web' })).rejects.toMatchObject({
      code: 'denied',
    })
    await expect(
      host.complete({ ref: { type: 'ref/prompt', name: 'web_write' }, argument: { name: 'topic', value: secret } }),
    ).rejects.toMatchObject({
      code: 'denied',
    })
    await expect(host.getPrompt('web_write', { topic: 'the weather' })).resolves.toBeDefined()
  })

  it('causes no alarm in 500 ordinary calls', async () => {
    let seed = 7
    const random = (max: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return (seed >>> 12) % max
    }
    const words =
      'invoice project meeting branch commit release weather berlin paris customer order ticket open closed urgent review draft final budget team plan river stone garden yellow green window table music paper engine silver market doctor school bridge island coffee winter summer camera letter number simple strong quiet early later north south mountain valley forest ocean planet rocket driver artist writer singer teacher student lawyer farmer'.split(
        ' ',
      )
    const sentence = (length: number) => Array.from({ length }, () => words[random(words.length)]).join(' ')
    const lookup = new McpServer({ name: 'lookup', version: '1' })
    lookup.registerTool('find', { inputSchema: { type: 'object', properties: { query: { type: 'string' } } } }, () =>
      JSON.stringify({
        id: random(1e6),
        title: sentence(4),
        status: 'open',
        created: '2026-01-02T03:04:05Z',
        url: `https://example.com/items/${random(1e5)}`,
      }),
    )
    await using host = await createHost({ servers: { a: { server: lookup }, b: { server: echo() } }, policy: allowAll })
    let alarms = 0
    for (let call = 0; call < 250; call++) {
      await host.callTool('a_find', { query: sentence(3) }).catch(() => alarms++)
      await host.callTool('b_echo', { text: sentence(3 + random(10)) }).catch(() => alarms++)
    }
    expect(alarms).toBe(0)
  })
})
