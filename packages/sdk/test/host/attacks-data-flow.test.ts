import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { createHost } from '../../src/host/host.ts'
import type { PolicyRule } from '../../src/host/policy.ts'
import { ResourceTemplate } from '../../src/server/features/resource-entry.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { deferred } from '../../src/util/deferred.ts'
import { privateText, smuggled } from './corpus/smuggled.ts'
import { post, serveGateway } from './gateway-support.ts'
import { allowAll, document } from './support.ts'

const policy: readonly PolicyRule[] = [
  { from: 'mail', server: 'web', decide: 'deny' },
  { from: '*', decide: 'allow' },
  ...allowAll,
]

const topic = { type: 'object' as const, properties: { topic: { type: 'string' } } }

/** A server that records everything that reaches it, in whatever way. */
function web() {
  const seen: string[] = []
  const server = new McpServer({ name: 'web', version: '1' })
  const text = { type: 'object' as const, properties: { text: { type: 'string' } } }
  server.registerTool('post', { description: 'Posts', inputSchema: text }, ({ text }) => {
    seen.push(String(text))
    return 'posted'
  })
  server.registerPrompt('write', { argsSchema: topic }, ({ topic }) => {
    seen.push(String(topic))
    return 'Write.'
  })
  const template = new ResourceTemplate('web://page/{name}', {
    complete: { name: (value) => [String(seen.push(value))] },
  })
  server.registerResource('page', template, {}, (uri) => {
    seen.push(uri.href)
    return 'A page'
  })
  return { server, seen }
}

function mail(): McpServer {
  const server = document(privateText)
  server.registerPrompt('letter', {}, () => privateText)
  server.registerResource('inbox', 'mail://inbox', {}, () => privateText)
  server.registerTool('fail', { description: 'Fails' }, () => {
    throw new Error(privateText)
  })
  return server
}

describe('a rule that denies data of a server', () => {
  it.each(Object.entries(smuggled))('holds for text %s [HOST-013] [HOST-031]', async (_, text) => {
    const { server, seen } = web()
    await using host = await createHost({ servers: { mail: { server: mail() }, web: { server } }, policy })
    await host.callTool('web_post', { text: 'before' })
    await host.callTool('mail_read')
    await expect(host.callTool('web_post', { text })).rejects.toMatchObject({ code: 'denied' })
    expect(seen).toEqual(['before'])
  })

  it.each([
    ['a resource', (host: Host) => host.readResource('mail://inbox')],
    ['a prompt', (host: Host) => host.getPrompt('mail_letter')],
    ['an error', (host: Host) => host.callTool('mail_fail')],
  ])('holds after %s of that server [HOST-013] [HOST-031]', async (_, read) => {
    const { server, seen } = web()
    await using host = await createHost({ servers: { mail: { server: mail() }, web: { server } }, policy })
    await read(host)
    await expect(host.callTool('web_post', { text: smuggled.reversed })).rejects.toMatchObject({ code: 'denied' })
    expect(seen).toEqual([])
  })

  it('holds for prompts, resources and completions of the destination [HOST-013] [HOST-031]', async () => {
    const { server, seen } = web()
    await using host = await createHost({ servers: { mail: { server: mail() }, web: { server } }, policy })
    await host.callTool('mail_read')
    const text = smuggled['in rot13']!
    const uri = `web://page/${encodeURIComponent(text)}`
    const ref = { type: 'ref/resource', uri: 'web://page/{name}' } as const
    for (const attempt of [
      () => host.getPrompt('web_write', { topic: text }),
      () => host.readResource(uri, { server: 'web' }),
      () => host.subscribeResource(uri, () => {}, { server: 'web' }),
      () => host.complete({ ref, argument: { name: 'name', value: text } }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'denied' })
    }
    expect(seen).toEqual([])
  })

  it('says which data it is about, and does not affect other servers or the server itself', async () => {
    const { server } = web()
    const servers = { mail: { server: mail() }, web: { server }, log: { server: web().server } }
    await using host = await createHost({ servers, policy })
    await host.callTool('mail_read')
    await expect(host.callTool('web_post', { text: 'x' })).rejects.toThrow(/rule 1 of the policy.*mail/)
    expect((await host.callTool('log_post', { text: 'x' })).text).toBe('posted')
    expect((await host.callTool('mail_read')).isError).not.toBe(true)
  })

  it('ends with the session, so that the next conversation begins without it', async () => {
    const { server } = web()
    await using host = await createHost({ servers: { mail: { server: mail() }, web: { server } }, policy })
    const first = host.session({})
    const second = host.session({})
    await first.callTool('mail_read')
    await expect(first.callTool('web_post', { text: 'x' })).rejects.toMatchObject({ code: 'denied' })
    expect((await second.callTool('web_post', { text: 'x' })).text).toBe('posted')
  })

  it('asks about everything after data of that server, if the rule says so', async () => {
    const { server } = web()
    const asking: readonly PolicyRule[] = [{ from: 'mail', server: 'web', decide: 'ask' }, ...policy.slice(1)]
    const asked: string[] = []
    await using host = await createHost({
      servers: { mail: { server: mail() }, web: { server } },
      policy: asking,
      approve: async ({ reason }) => {
        asked.push(reason)
        return 'deny'
      },
    })
    await host.callTool('mail_read')
    await expect(host.callTool('web_post', { text: 'Marigold' })).rejects.toMatchObject({ code: 'denied' })
    expect(asked).toEqual([expect.stringContaining('mail')])
  })
})

type Host = Awaited<ReturnType<typeof createHost>>

describe('a rule that denies data of a server, behind a gateway', () => {
  const denied = { isError: true, content: [{ type: 'text', text: expect.stringContaining('denied') }] }

  const verify = async (subject: string) => ({ subject, scopes: [] })
  const resource = { resource: 'http://127.0.0.1/mcp', authorizationServers: ['https://login.example'] }
  const as = (name: string) => ({ headers: { authorization: `Bearer ${name}` } })

  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2026-07-28', '2026-07-28'],
    ['2025-11-25', '2026-07-28'],
    ['2026-07-28', '2025-11-25'],
  ] as const)(
    'holds for a user who reads by %s and posts by %s with another program [HOST-013] [HOST-031]',
    async (first, then) => {
      const { server, seen } = web()
      const servers = { mail: { server: mail() }, web: { server } }
      await using gateway = await serveGateway(servers, { host: { policy }, http: { auth: { verify, ...resource } } })
      const elicit = async () => ({ action: 'decline' as const })
      await using reader = await connect(gateway.url, { revision: first, handlers: { elicit }, ...as('ada') })
      await using poster = await connect(gateway.url, { revision: then, ...as('ada') })
      await using other = await connect(gateway.url, { revision: then, ...as('bob') })
      await reader.callTool('mail_read')
      expect(await poster.callTool('web_post', { text: smuggled.reversed! })).toMatchObject(denied)
      expect(seen).toEqual([])
      expect((await other.callTool('web_post', { text: 'of bob' })).text).toBe('posted')
    },
  )

  it('holds for a session without a user, and not for another session [HOST-013] [HOST-031]', async () => {
    const { server } = web()
    await using gateway = await serveGateway({ mail: { server: mail() }, web: { server } }, { host: { policy } })
    await using one = await connect(gateway.url, { revision: '2025-11-25' })
    await using two = await connect(gateway.url, { revision: '2025-11-25' })
    await one.callTool('mail_read')
    expect(await one.callTool('web_post', { text: smuggled.reversed! })).toMatchObject(denied)
    expect((await two.callTool('web_post', { text: 'x' })).text).toBe('posted')
  })

  it('holds for all callers of a gateway that may be one of several nodes, because others may have read it', async () => {
    const { server } = web()
    const servers = { mail: { server: mail() }, web: { server } }
    const options = { host: { policy }, http: { auth: { verify, ...resource } }, server: { stateKey: 'k'.repeat(32) } }
    await using gateway = await serveGateway(servers, options)
    await using caller = await connect(gateway.url, as('ada'))
    expect(await caller.callTool('web_post', { text: 'x' })).toMatchObject(denied)
  })

  it('holds for questions of the destination, whose answers can carry the data [HOST-013] [HOST-031]', async () => {
    const server = new McpServer({ name: 'web', version: '1' }, { revisions: ['2025-11-25'] })
    server.registerTool('wait', { description: 'Waits' }, async (_, ctx) => {
      started.resolve()
      await gate.promise
      const failures: string[] = []
      for (const ask of [
        () => ctx.elicit('What did you read?', { type: 'object', properties: { it: { type: 'string' } } }),
        () => ctx.sample({ messages: [{ role: 'user', content: { type: 'text', text: 'What?' } }], maxTokens: 9 }),
      ]) {
        await ask().catch((error: Error) => failures.push(error.message))
      }
      return failures.join('\n')
    })
    const started = deferred<void>()
    const gate = deferred<void>()
    const asked: string[] = []
    await using gateway = await serveGateway({ mail: { server: mail() }, web: { server } }, { host: { policy } })
    await using caller = await connect(gateway.url, {
      revision: '2025-11-25',
      handlers: {
        elicit: async () => {
          asked.push('elicit')
          return { action: 'accept', content: { it: smuggled.reversed! } }
        },
        sample: async () => {
          asked.push('sample')
          return { role: 'assistant', model: 'm', content: { type: 'text', text: smuggled.reversed! } }
        },
      },
    })
    const waiting = caller.callTool('web_wait')
    await started.promise
    await caller.callTool('mail_read')
    gate.resolve()
    expect((await waiting).text.split('\n')).toHaveLength(2)
    expect(asked).toEqual([])
  })

  it('holds for callers that cannot be recognized again, who may have read anything [HOST-013] [HOST-031]', async () => {
    const { server, seen } = web()
    await using gateway = await serveGateway({ mail: { server: mail() }, web: { server } }, { host: { policy } })
    const { body } = await post(gateway.url, 'tools/call', { name: 'web_post', arguments: { text: 'x' } })
    expect(body).toMatchObject({ result: denied })
    expect(seen).toEqual([])
  })
})

it.each(['2025-11-25', '2026-07-28'] as const)(
  'an answer does not reach a server of %s if the session received what must not while the user answered [HOST-031]',
  async (revision) => {
    const mail = new McpServer({ name: 'mail', version: '1.0.0' })
    mail.registerTool('read', {}, () => 'private')
    const web = new McpServer({ name: 'web', version: '1.0.0' }, { revisions: [revision] })
    const got: string[] = []
    web.registerTool('ask', {}, async (_, ctx) => {
      const { action } = await ctx.elicit('What shall I post?', {
        type: 'object',
        properties: { text: { type: 'string' } },
      })
      got.push(action)
      return 'asked'
    })
    let read = async () => {}
    await using host = await createHost({
      servers: { mail: { server: mail }, web: { server: web } },
      policy: [
        { kind: ['connect', 'definitions'], decide: 'allow' },
        { from: 'mail', server: 'web', decide: 'deny' },
        { decide: 'allow' },
      ],
      input: {
        elicit: async () => {
          await read()
          return { action: 'accept', content: { text: 'private' } }
        },
      },
    })
    read = async () => void (await host.callTool('mail_read'))
    await host.callTool('web_ask').catch(() => {})
    expect(got).toEqual([])
  },
)

describe('a rule that asks about data of a server', () => {
  const asking: readonly PolicyRule[] = [
    { from: 'mail', server: 'web', decide: 'ask' },
    { from: '*', decide: 'allow' },
    ...allowAll,
  ]
  const form = { type: 'object' as const, properties: { text: { type: 'string' as const } } }

  /** A server that asks for a text, or for a message of the model, and records what it gets. */
  function curious(revision: '2025-11-25' | '2026-07-28') {
    const got: string[] = []
    const server = new McpServer({ name: 'web', version: '1' }, { revisions: [revision] })
    server.registerTool('ask', { description: 'Asks' }, async (_, ctx) => {
      const { content } = await ctx.elicit('What shall I post?', form)
      got.push(String(content?.text))
      return 'asked'
    })
    server.registerTool('sample', { description: 'Samples' }, async (_, ctx) => {
      const { content } = await ctx.sample({
        messages: [{ role: 'user', content: { type: 'text', text: 'What?' } }],
        maxTokens: 9,
      })
      got.push(JSON.stringify(content))
      return 'sampled'
    })
    return { server, got }
  }

  describe.each(['2025-11-25', '2026-07-28'] as const)('of a server of %s', (revision) => {
    it.each([
      ['deny', []],
      ['once', ['private']],
    ] as const)(
      'asks again (%s) if the data arrives while the user answers a question [HOST-013] [HOST-031]',
      async (answer, sent) => {
        const { server, got } = curious(revision)
        const reasons: string[] = []
        let read = async () => {}
        await using host = await createHost({
          servers: { mail: { server: mail() }, web: { server } },
          policy: asking,
          approve: async ({ action, reason }) => {
            reasons.push(`${action.kind}: ${reason}`)
            return answer
          },
          input: {
            elicit: async () => {
              await read()
              return { action: 'accept', content: { text: 'private' } }
            },
          },
        })
        read = async () => void (await host.callTool('mail_read'))
        await host.callTool('web_ask').catch(() => {})
        expect(got).toEqual(sent)
        expect(reasons).toEqual([expect.stringMatching(/^elicitation: .*mail/)])
      },
    )

    it('does not ask again if nothing arrived, or the user declined', async () => {
      const { server } = curious(revision)
      const kinds: string[] = []
      let action: 'accept' | 'decline' = 'accept'
      let read = async () => {}
      await using host = await createHost({
        servers: { mail: { server: mail() }, web: { server } },
        policy: asking,
        approve: async ({ action }) => {
          kinds.push(action.kind)
          return 'once'
        },
        input: {
          elicit: async () => {
            await read()
            return action === 'accept' ? { action, content: { text: 'x' } } : { action }
          },
        },
      })
      await host.callTool('web_ask')
      expect(kinds).toEqual([])
      action = 'decline'
      read = async () => void (await host.callTool('mail_read'))
      await host.callTool('web_ask')
      expect(kinds).toEqual([])
      action = 'accept'
      // The call and the question are asked about before the user answers, and that is enough.
      await host.callTool('web_ask')
      expect(kinds).toEqual(['tool', 'elicitation'])
    })

    it.each([
      ['ask', 'deny', 0, 1],
      ['ask', 'once', 1, 1],
      ['deny', 'once', 0, 0],
    ] as const)(
      'holds (%s, %s) for a message of the model of a caller of a gateway [HOST-013] [HOST-031]',
      async (decide, decision, sent, questions) => {
        const { server, got } = curious(revision)
        const policy = [{ from: 'mail', server: 'web', decide }, ...asking.slice(1)] as const
        const asked: string[] = []
        await using gateway = await serveGateway({ mail: { server: mail() }, web: { server } }, { host: { policy } })
        let read = async () => {}
        await using caller = await connect(gateway.url, {
          revision: '2025-11-25',
          handlers: {
            elicit: async ({ message }) => {
              asked.push(message)
              return { action: 'accept', content: { decision } }
            },
            sample: async () => {
              await read()
              return { role: 'assistant', model: 'm', content: { type: 'text', text: smuggled.reversed! } }
            },
          },
        })
        read = async () => void (await caller.callTool('mail_read'))
        await caller.callTool('web_sample').catch(() => {})
        expect(got).toHaveLength(sent)
        expect(asked).toHaveLength(questions)
      },
    )
  })

  it('asks before the model of a caller of a gateway is used, if the data was there [HOST-013] [HOST-031]', async () => {
    const { server, got } = curious('2025-11-25')
    const asked: string[] = []
    const policy: readonly PolicyRule[] = [
      { kind: ['sampling', 'sampling-result'], from: 'mail', server: 'web', decide: 'ask' },
      ...asking.slice(1),
    ]
    await using gateway = await serveGateway({ mail: { server: mail() }, web: { server } }, { host: { policy } })
    await using caller = await connect(gateway.url, {
      revision: '2025-11-25',
      handlers: {
        elicit: async ({ message }) => {
          asked.push(message)
          return { action: 'accept', content: { decision: 'deny' } }
        },
        sample: async () => {
          asked.push('sampled')
          return { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } }
        },
      },
    })
    await caller.callTool('mail_read')
    await caller.callTool('web_sample').catch(() => {})
    expect(got).toEqual([])
    expect(asked).toEqual([expect.stringContaining('mail')])
  })

  it('asks although the user allowed the call before the data arrived [HOST-013] [HOST-031]', async () => {
    const { server, seen } = web()
    const reasons: string[] = []
    let answer: 'session' | 'deny' = 'session'
    await using host = await createHost({
      servers: { mail: { server: mail() }, web: { server } },
      policy: [
        { from: 'mail', server: 'web', decide: 'ask' },
        { tool: 'post', decide: 'ask' },
        { from: '*', decide: 'allow' },
        ...allowAll,
      ],
      approve: async ({ reason }) => {
        reasons.push(reason)
        return answer
      },
    })
    await host.callTool('web_post', { text: 'a' })
    await host.callTool('web_post', { text: 'b' })
    expect(reasons).toHaveLength(1)
    await host.callTool('mail_read')
    answer = 'deny'
    await expect(host.callTool('web_post', { text: 'c' })).rejects.toMatchObject({ code: 'denied' })
    answer = 'session'
    await host.callTool('web_post', { text: 'd' })
    await host.callTool('web_post', { text: 'e' })
    expect(seen).toEqual(['a', 'b', 'd', 'e'])
    expect(reasons.slice(1)).toEqual([expect.stringContaining('mail'), expect.stringContaining('mail')])
  })
})
