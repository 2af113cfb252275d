import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type {
  ApprovalRequest,
  Approve,
  RootsAction,
  SamplingAction,
  SamplingResultAction,
} from '../../src/host/action.ts'
import { memoryAudit } from '../../src/host/audit/memory.ts'
import { createHost } from '../../src/host/host.ts'
import type { Model } from '../../src/host/models/model.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { eventually } from '../kit/eventually.ts'
import { allowAll, echo, script } from './support.ts'

const allowTools = [{ kind: 'tool', decide: 'allow' }] as const

/** A model that answers with the last message of the request. */
const parrot: Model = {
  choices: [{ name: 'parrot' }],
  generate: async ({ params, model }) => {
    const { content } = params.messages.at(-1) ?? { content: { type: 'text', text: '' } }
    const [first] = Array.isArray(content) ? content : [content]
    return { role: 'assistant', model, content: first ?? { type: 'text', text: '' }, stopReason: 'endTurn' }
  },
}

/** A server whose tool asks the model of the client. */
function sampling(): McpServer {
  const server = new McpServer({ name: 'sampling', version: '1.0.0' })
  server.registerTool('think', {}, async (_, ctx) => {
    if (!ctx.can('sample')) return 'there is no model'
    const message = { role: 'user' as const, content: { type: 'text' as const, text: 'a question' } }
    const { content } = await ctx.sample({ messages: [message], maxTokens: 100 })
    return JSON.stringify(content)
  })
  return server
}

describe('sampling through a host', () => {
  it('shows the request and the answer to the user before they are sent [HOST-005] [HOST-026] [SAMP-004]', async () => {
    const { approve, asked } = script('once', 'once')
    await using host = await createHost({
      servers: { s: { server: sampling() } },
      policy: allowTools,
      approve,
      model: parrot,
    })
    expect((await host.callTool('s_think')).text).toContain('a question')
    const [request, result] = asked as [ApprovalRequest<SamplingAction>, ApprovalRequest<SamplingResultAction>]
    expect(request.action).toMatchObject({ kind: 'sampling', server: { id: 's' }, request: { maxTokens: 100 } })
    expect(JSON.stringify(result.action.result)).toContain('a question')
  })

  it('uses what the user made of the request and of the answer [HOST-005] [SAMP-004]', async () => {
    const edited = { messages: [{ role: 'user', content: { type: 'text', text: 'edited' } }], maxTokens: 5 } as const
    const { approve } = script({ decision: 'once', edited: { ...edited, messages: [...edited.messages] } }, 'once')
    await using host = await createHost({
      servers: { s: { server: sampling() } },
      policy: allowTools,
      approve,
      model: parrot,
    })
    expect((await host.callTool('s_think')).text).toContain('edited')
  })

  it('is denied without a user to ask, and the model is not called [HOST-005]', async () => {
    let calls = 0
    const generate: Model['generate'] = (request) => {
      calls++
      return parrot.generate(request)
    }
    const model: Model = { ...parrot, generate }
    await using host = await createHost({ servers: { s: { server: sampling() } }, policy: allowTools, model })
    await expect(host.callTool('s_think')).rejects.toThrow('The user rejected the sampling request')
    expect(calls).toBe(0)
  })

  it('is not offered to servers without a model', async () => {
    await using host = await createHost({ servers: { s: { server: sampling() } }, policy: allowTools })
    expect((await host.callTool('s_think')).text).toBe('there is no model')
  })
})

describe('roots of a host', () => {
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })

  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'tenon-roots-'))
    folders.push(path)
    return pathToFileURL(path).href
  }

  /** A server whose tool lists the roots that it may know. */
  function curious(): McpServer {
    const server = new McpServer({ name: 'curious', version: '1.0.0' })
    server.registerTool('roots', {}, async (_, ctx) => (await ctx.roots()).map(({ uri }) => uri).join())
    return server
  }

  it('are asked about again if they change while the user is asked, and the old ones are not sent [ROOT-010]', async () => {
    const [one, two] = [folder(), folder()]
    const asked: unknown[] = []
    const approve: Approve = async ({ action }) => {
      if (action.kind !== 'roots') return 'once'
      asked.push(action.roots.map(({ uri }) => uri))
      if (asked.length === 1) host.setRoots([two])
      return 'once'
    }
    await using host = await createHost({
      servers: { a: { server: curious() } },
      policy: allowTools,
      approve,
      roots: [one],
    })
    expect((await host.callTool('a_roots')).text).toBe(two)
    expect(asked).toEqual([[one], [two]])
  })

  it('are shown to a server only if the user agrees [HOST-001] [ROOT-010]', async () => {
    const uri = folder()
    const { approve, asked } = script('session', 'deny')
    const servers = { a: { server: curious() }, b: { server: curious() } }
    await using host = await createHost({ servers, policy: allowTools, approve, roots: [uri] })
    expect((await host.callTool('a_roots')).text).toBe(uri)
    expect((await host.callTool('b_roots')).text).toBe('')
    const { action } = asked[0] as ApprovalRequest<RootsAction>
    expect(action).toMatchObject({ kind: 'roots', server: { id: 'a' }, roots: [{ uri }] })
  })

  it('are different for each server, and only those that exist [HOST-007] [ROOT-008] [ROOT-017]', async () => {
    const [one, two] = [folder(), folder()]
    const roots = { a: [one, `${one}/missing`], b: [two] }
    const servers = { a: { server: curious() }, b: { server: curious() } }
    await using host = await createHost({ servers, policy: allowAll, roots })
    expect((await host.callTool('a_roots')).text).toBe(one)
    expect((await host.callTool('b_roots')).text).toBe(two)
  })
})

describe('changes of the roots of a host', () => {
  /** A server of 2025-11-25, which caches the roots until it hears that they have changed. */
  function cachingServer() {
    const server = new McpServer({ name: 'caching', version: '1.0.0' }, { revisions: ['2025-11-25'] })
    server.registerTool('roots', {}, async (_, ctx) => (await ctx.roots()).map(({ uri }) => uri).join())
    return server
  }

  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'tenon roots #'))
    onTestFinished(() => rmSync(path, { recursive: true, force: true }))
    return path
  }

  it('are announced to connected servers, and paths become URIs [ROOT-005]', async () => {
    const [one, two] = [folder(), folder()]
    const servers = { a: { server: cachingServer() }, b: { server: cachingServer() } }
    await using host = await createHost({ servers, policy: allowAll, roots: [one] })
    for (const id of ['a', 'b']) expect((await host.callTool(`${id}_roots`)).text).toBe(pathToFileURL(one).href)
    host.setRoots({ a: [one, two], b: [] })
    expect(host.roots.map(({ uri }) => uri)).toEqual([pathToFileURL(one).href, pathToFileURL(two).href])
    const both = `${pathToFileURL(one).href},${pathToFileURL(two).href}`
    await eventually(async () => (await host.callTool('a_roots')).text === both)
    await eventually(async () => (await host.callTool('b_roots')).text === '')
  })

  it('are announced when a folder disappears [ROOT-015] [ROOT-018]', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const path = folder()
    await using host = await createHost({
      servers: { a: { server: cachingServer() } },
      policy: allowAll,
      roots: [path],
    })
    expect((await host.callTool('a_roots')).text).toBe(pathToFileURL(path).href)
    // The first look at the folder comes before it disappears.
    await eventually(() => vi.getTimerCount() > 0)
    rmSync(path, { recursive: true })
    await eventually(async () => {
      vi.advanceTimersByTime(5_000)
      return (await host.callTool('a_roots')).text === ''
    })
  })

  it('are refused by a host without roots, and invalid ones change nothing', async () => {
    await using without = await createHost({ servers: {} })
    expect(() => without.setRoots(['/srv'])).toThrow('pass roots: [] to createHost')
    await using host = await createHost({ servers: {}, roots: ['/srv'] })
    expect(() => host.setRoots(['/srv/../etc'])).toThrow('Invalid root')
    expect(host.roots).toEqual([{ uri: 'file:///srv' }])
  })
})

describe('a question of a server to the user', () => {
  function asking(): McpServer {
    const server = new McpServer({ name: 'a bank', version: '1.0.0' })
    server.registerTool('ask', {}, async (_, ctx) => (await ctx.elicit('Your name?')).action)
    return server
  }

  it('names the server by the id that the user chose, not by its own name [ELIC-051]', async () => {
    const seen: string[] = []
    const elicit = (_: unknown, { server }: { server: { id: string } }) => {
      seen.push(server.id)
      return { action: 'decline' as const }
    }
    await using host = await createHost({
      servers: { shop: { server: asking() } },
      policy: allowTools,
      input: { elicit },
    })
    expect((await host.callTool('shop_ask')).text).toBe('decline')
    expect(seen).toEqual(['shop'])
  })

  it('is refused when a server asks too often [ELIC-051]', async () => {
    let questions = 0
    const elicit = () => {
      questions++
      return { action: 'accept' as const, content: {} }
    }
    const options = { policy: allowTools, input: { elicit }, limits: { questionsPerMinute: 3 } }
    await using host = await createHost({ servers: { s: { server: asking() } }, ...options })
    for (let call = 0; call < 6; call++) await host.callTool('s_ask').catch(() => {})
    expect(questions).toBe(3)
  })
})

describe('the audit log of a host', () => {
  it('records connections, decisions, calls and denials, without secrets [HOST-010] [HOST-014]', async () => {
    const audit = memoryAudit()
    const server = new McpServer({ name: 'x', version: '1' })
    server.registerTool(
      'login',
      { inputSchema: { type: 'object', properties: { password: { type: 'string' } } } },
      () => 'ok',
    )
    const { approve } = script('once', 'deny')
    await using host = await createHost({ servers: { s: { server } }, approve, audit })
    await host.callTool('s_login', { password: 'hunter2hunter2' })
    await host.callTool('s_login', {}).catch(() => {})
    await audit.flush()
    const entries = audit.lines.map((line) => JSON.parse(line))
    expect(entries.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['host-started', 'connected', 'decision', 'tool-call']),
    )
    const decisions = entries.filter(({ event }) => event === 'decision').map(({ details }) => details.allowed)
    expect(decisions).toEqual([true, false])
    expect(audit.lines.join('\n')).not.toContain('hunter2')
  })

  it('makes calls wait when it is full, and loses none', async () => {
    const audit = memoryAudit({ maxPending: 20 })
    const host = await createHost({ servers: { s: { server: echo() } }, policy: allowTools, audit })
    await host.tools()
    await Promise.all(Array.from({ length: 300 }, (_, index) => host.callTool('s_echo', { text: `${index}` })))
    await host.close()
    expect(audit.lines.filter((line) => JSON.parse(line).event === 'tool-call')).toHaveLength(300)
  })
})
