import { describe, expect, it } from 'vitest'
import { callOf, InspectorPage, messagesOf } from './inspector-support.ts'

const revisions = ['2025-11-25', '2026-07-28'] as const

describe.each(revisions)('operations of the inspector on %s', (revision) => {
  it('calls a tool, and says which messages belong to it', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    await page.until('list', ({ list }) => list === 'tools')
    const operation = await page.start(server, callOf('add', { a: 1, b: 2 }))
    const ended = await page.ended(operation)
    expect(ended).toMatchObject({ result: { content: [{ text: '3' }] }, durationMs: expect.any(Number) })
    expect(ended.output).toBeUndefined()
    expect(page.all('operation')).toMatchObject([{ server, operation, ...callOf('add', { a: 1, b: 2 }) }])
    const answer = revision === '2026-07-28' ? 'received complete' : 'received result'
    expect(messagesOf(page.events, operation)).toEqual(['sent tools/call', answer])
  })

  it('reports a failure of the server with its JSON-RPC error', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const { error, result } = await page.run(server, { method: 'bogus/method', params: {} })
    expect(result).toBeUndefined()
    expect(error).toMatchObject({ code: 'peer', rpc: { code: -32601 } })
  })

  it('validates structured content against the output schema', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    await page.until('list', ({ list }) => list === 'tools')
    expect(await page.run(server, callOf('sum'))).toMatchObject({
      result: { structuredContent: { sum: 3 } },
      output: { isValid: true },
    })
  })

  it('shows progress, and cancels a call', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const operation = await page.start(server, callOf('wait'))
    expect(await page.until('progress', (event) => event.operation === operation)).toMatchObject({
      progress: 1,
      total: 2,
      message: 'half of it',
    })
    expect((await page.api('POST', `operations/${operation}/cancel`)).status).toBe(200)
    expect((await page.ended(operation)).error).toMatchObject({ code: 'cancelled' })
    await expect.poll(() => messagesOf(page.events, operation)).toContain('sent notifications/cancelled')
    expect((await page.api('POST', `operations/${operation}/cancel`)).status).toBe(404)
  })

  it('reads and subscribes to resources, gets prompts, pings, and sets the log level', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    expect(await page.run(server, { method: 'resources/read', params: { uri: 'notes://plan' } })).toMatchObject({
      result: { contents: [{ text: 'Buy milk' }] },
    })
    expect(await page.run(server, { method: 'prompts/get', params: { name: 'greet' } })).toMatchObject({
      result: { messages: [{ content: { text: 'Hello!' } }] },
    })
    expect((await page.run(server, { method: 'ping' })).error).toBeUndefined()
    const subscribed = await page.run(server, { method: 'resources/subscribe', params: { uri: 'notes://plan' } })
    expect(subscribed).toMatchObject({ result: {} })
    await page.run(server, callOf('touch'))
    await page.until('changed', ({ what, uri }) => what === 'resource' && uri === 'notes://plan')
    const unsubscribed = await page.run(server, { method: 'resources/unsubscribe', params: { uri: 'notes://plan' } })
    expect(unsubscribed.error).toBeUndefined()
    expect((await page.run(server, { method: 'logging/setLevel', params: { level: 'debug' } })).error).toBeUndefined()
    await page.run(server, callOf('log'))
    expect(await page.until('log')).toMatchObject({ level: 'warning', logger: 'clock', data: { text: 'It is late' } })
    const complete = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'x', value: '' } }
    const { error } = await page.run(server, { method: 'completion/complete', params: complete })
    expect(error).toMatchObject({ code: expect.stringMatching(/^(capability-missing|peer)$/) })
  })

  it('ends an operation with an error if its params are invalid', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    for (const [method, params, message] of [
      ['resources/read', {}, '"uri" must be a text.'],
      ['prompts/get', { name: 5 }, '"name" must be a text.'],
      ['tools/call', {}, '"name" must be a text.'],
      ['logging/setLevel', { level: 'loud' }, '"level" must be one of'],
      ['list', { list: 'toys' }, '"list" must be one of'],
    ] as const) {
      const { error } = await page.run(server, { method, params })
      expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining(message) })
    }
  })

  it('reads a list again when the server announces a change, and on request', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const { total } = await page.until('list', ({ list }) => list === 'tools')
    // The subscription may begin after the first list was read.
    if (revision === '2026-07-28')
      await page.until('message', ({ message }) => JSON.stringify(message).includes('subscriptions/acknowledged'))
    await page.run(server, callOf('grow'))
    await page.until('changed', ({ what }) => what === 'tools')
    await page.until('list', (event) => event.list === 'tools' && event.total === total + 1)
    expect(await page.run(server, { method: 'list', params: { list: 'tools' } })).toMatchObject({
      result: { total: total + 1 },
    })
  })

  it('calls a tool as a task, and follows its state', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const operation = await page.start(server, { ...callOf('job'), asTask: true })
    expect(await page.ended(operation)).toMatchObject({ result: { content: [{ text: 'The job is done' }] } })
    const tasks = page.all('task')
    expect(new Set(tasks.map(({ task }) => task.taskId)).size).toBe(1)
    expect(tasks[0]).toMatchObject({ server, task: { status: 'working', ttlMs: expect.anything() } })
    const { task } = await page.until('task', (event) => event.task.status === 'completed')
    expect(page.all('task').at(-1)).toMatchObject({ operation })
    const params = { taskId: task.taskId }
    expect(await page.run(server, { method: 'tasks/get', params })).toMatchObject({ result: { status: 'completed' } })
    expect(await page.run(server, { method: 'tasks/result', params })).toMatchObject({
      result: { content: [{ text: 'The job is done' }] },
    })
    const { result, error } = await page.run(server, { method: 'tasks/list' })
    if (revision === '2025-11-25') expect(result).toMatchObject({ tasks: [{ taskId: task.taskId }] })
    else expect(error).toMatchObject({ code: expect.stringMatching(/^(capability-missing|peer)$/) })
  })

  it('cancels a task', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture({ revision })
    const operation = await page.start(server, { ...callOf('endless'), asTask: true })
    const { task } = await page.until('task')
    const { error } = await page.run(server, { method: 'tasks/cancel', params: { taskId: task.taskId } })
    expect(error).toBeUndefined()
    expect((await page.ended(operation)).error).toMatchObject({ code: 'cancelled' })
    await page.until('task', (event) => event.task.status === 'cancelled')
  })
})
