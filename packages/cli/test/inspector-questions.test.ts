import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { callOf, InspectorPage, messagesOf } from './inspector-support.ts'
import { fixture } from './support.ts'

const revisions = ['2025-11-25', '2026-07-28'] as const

describe.each(revisions)('questions in the inspector on %s', (revision) => {
  it('parks the form of a server until the user answers', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    await page.until('list', ({ list }) => list === 'tools')
    const operation = await page.start(server, callOf('ask'))
    const { question, request, operation: owner } = await page.until('question')
    expect(owner).toBe(operation)
    expect(request).toMatchObject({
      method: 'elicitation/create',
      params: { mode: 'form', message: 'What is your name?', requestedSchema: { type: 'object' } },
    })
    const wrong = { message: { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' } }
    expect((await page.api('POST', `questions/${question}/answer`, wrong)).status).toBe(400)
    expect((await page.api('POST', `questions/${question}/answer`, { action: 'perhaps' })).status).toBe(400)
    const invalid = await page.api('POST', `questions/${question}/answer`, { action: 'accept', content: { name: 5 } })
    expect(invalid).toMatchObject({ status: 400, json: { error: { message: expect.stringContaining('"name"') } } })
    const answer = { action: 'accept', content: { name: 'Ann' } }
    expect((await page.api('POST', `questions/${question}/answer`, answer)).status).toBe(200)
    expect(await page.ended(operation)).toMatchObject({ result: { content: [{ text: 'Hello Ann' }] } })
    expect(page.all('question-ended')).toMatchObject([{ question, outcome: 'accept' }])
    expect((await page.api('POST', `questions/${question}/answer`, answer)).status).toBe(404)
    const rounds = {
      '2025-11-25': ['sent tools/call', 'received elicitation/create', 'sent result', 'received result'],
      '2026-07-28': ['sent tools/call', 'received input_required', 'sent tools/call', 'received complete'],
    }
    expect(messagesOf(page.events, operation).filter((line) => !line.endsWith('progress'))).toEqual(rounds[revision])
  })

  it.each(['decline', 'cancel'])('answers a form with %s', async (action) => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const operation = await page.start(server, callOf('ask'))
    const { question } = await page.until('question')
    await page.api('POST', `questions/${question}/answer`, { action })
    expect(await page.ended(operation)).toMatchObject({ result: { content: [{ text: `No name: ${action}` }] } })
  })

  it('shows the whole URL of a URL question with warnings', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const operation = await page.start(server, callOf('visit'))
    const { question, request, warnings } = await page.until('question')
    expect(request.params).toMatchObject({ mode: 'url', url: 'http://127.0.0.1:9/pay', message: 'Please pay' })
    expect(warnings).toContain('The connection is not encrypted (http).')
    await page.api('POST', `questions/${question}/answer`, { action: 'decline' })
    expect(await page.ended(operation)).toMatchObject({ result: { content: [{ text: 'decline' }] } })
  })

  it('lets the user answer a sampling request, or decline it', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const operation = await page.start(server, callOf('sample'))
    const { question, request } = await page.until('question')
    expect(request).toMatchObject({ method: 'sampling/createMessage', params: { maxTokens: 100 } })
    expect((await page.api('POST', `questions/${question}/answer`, { action: 'accept' })).status).toBe(400)
    const message = { role: 'assistant', content: { type: 'text', text: 'Good day' }, model: 'me' }
    await page.api('POST', `questions/${question}/answer`, { message })
    expect(await page.ended(operation)).toMatchObject({ result: { content: [{ text: 'It said: Good day' }] } })
    expect(page.all('question-ended').at(-1)).toMatchObject({ outcome: 'answered' })
  })

  it('withdraws a question when its call is cancelled', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const operation = await page.start(server, callOf('ask'))
    const { question } = await page.until('question')
    await page.api('POST', `operations/${operation}/cancel`)
    expect(await page.until('question-ended')).toMatchObject({ question, outcome: 'withdrawn' })
  })

  it('lets the user edit the roots that the server sees', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    expect(page.all('roots')).toMatchObject([{ server, roots: [] }])
    const roots = [{ uri: 'file:///tmp/project', name: 'Project' }]
    expect((await page.api('PUT', `servers/${server}/roots`, roots)).json).toEqual({})
    expect(await page.until('roots', (event) => event.roots.length > 0)).toMatchObject({ server, roots })
    const { result } = await page.run(server, callOf('roots'))
    expect(JSON.stringify(result)).toContain('file:///tmp/project')
    expect((await page.api('PUT', `servers/${server}/roots`, [{ uri: 'https://x.example' }])).status).toBe(400)
    expect((await page.api('PUT', `servers/${server}/roots`, { uri: 'x' })).status).toBe(400)
  })
})

describe('roots in the inspector', () => {
  it('sends the server roots that were edited while it was connecting', async () => {
    await using page = await InspectorPage.open()
    const { json } = await page.api('POST', 'servers', { target: `${process.execPath} ${fixture('inspected.js')}` })
    await page.api('PUT', `servers/${json.server}/roots`, [{ uri: 'file:///tmp/early' }])
    await page.until('server-state', ({ state }) => state === 'ready')
    const { result } = await page.run(json.server, callOf('roots'))
    expect(JSON.stringify(result)).toContain('file:///tmp/early')
  })
})

describe.each(revisions)('questions over HTTP in the inspector on %s', (revision) => {
  it('finds the call of each question while several calls are running', async () => {
    const server = new McpServer({ name: 'web', version: '1.0.0' })
    server.registerTool('ask', { inputSchema: { who: z.string() } }, async ({ who }, ctx) => {
      const { action } = await ctx.elicit(`May ${who} come in?`)
      return `${who}: ${action}`
    })
    await using http = await serveHttp(server, { port: 0, exit: false })
    await using page = await InspectorPage.open()
    const id = await page.connect({ target: http.url, revision })
    await page.until('list', ({ list }) => list === 'tools')
    const operations = await Promise.all(['Ann', 'Bo'].map((who) => page.start(id, callOf('ask', { who }))))
    for (const [index, who] of ['Ann', 'Bo'].entries()) {
      const question = await page.until('question', ({ request }) => JSON.stringify(request).includes(who))
      expect(question.operation).toBe(operations[index])
      await page.api('POST', `questions/${question.question}/answer`, { action: 'accept' })
      expect(await page.ended(operations[index]!)).toMatchObject({ result: { content: [{ text: `${who}: accept` }] } })
    }
    const owned = page.all('message').filter(({ operation }) => operation === operations[0])
    expect(owned.length).toBeGreaterThanOrEqual(4)
    expect(owned.every(({ http: exchange }) => exchange !== undefined)).toBe(true)
  })
})

describe('comparing revisions in the inspector', () => {
  it('runs the same call on connections of several revisions', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture()
    const call = callOf('add', { a: 2, b: 3 })
    const operations = await Promise.all(
      (['2024-11-05', '2025-11-25', '2026-07-28'] as const).map((revision) =>
        page.start(server, { ...call, revision, comparison: 'one' }),
      ),
    )
    for (const operation of operations)
      expect(await page.ended(operation)).toMatchObject({ result: { content: [{ text: '5' }] } })
    expect(page.all('operation').map(({ comparison }) => comparison)).toEqual(['one', 'one', 'one'])
    const compared = page.all('message').filter(({ operation }) => operation === operations[1])
    expect(compared.map(({ comparedRevision }) => comparedRevision)).toEqual(['2025-11-25', '2025-11-25'])
    const own = page.all('message').filter(({ operation }) => operation === operations[2])
    expect(own.map(({ comparedRevision }) => comparedRevision)).toEqual([undefined, undefined])
  })

  it('asks the questions of a compared call', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision: '2026-07-28' })
    const operation = await page.start(server, { ...callOf('ask'), revision: '2025-06-18', comparison: 'one' })
    const question = await page.until('question')
    expect(question.operation).toBe(operation)
    await page.api('POST', `questions/${question.question}/answer`, { action: 'accept', content: { name: 'Bo' } })
    expect(await page.ended(operation)).toMatchObject({ result: { content: [{ text: 'Hello Bo' }] } })
  })
})
