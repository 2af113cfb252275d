import type { AuthInfo } from 'tenon/auth/server'
import { createMcpHandler, McpServer } from 'tenon/server'
import { MemoryTaskStore, tasks } from 'tenon/tasks'
import { describe, expect, it } from 'vitest'

type Body = Record<string, unknown>

const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** Creates a handler behind an authentication layer, and a function that calls it with given credentials. */
function place() {
  const store = new MemoryTaskStore()
  const server = new McpServer({ name: 'vault', version: '1.0.0' }, { tasks: tasks({ store }) })
  const config = { execution: { taskSupport: 'required' }, requiredScopes: ['write'] } as const
  const wipe = server.registerTool('wipe', config, async (_args, ctx) => {
    const { action } = await ctx.elicit('Wipe it?')
    return `${action} by ${ctx.auth?.subject}`
  })
  server.registerTool('whoami', config, (_args, ctx) => {
    const { iss, sub, user, userId } = ctx.auth as unknown as Body
    return JSON.stringify([iss, sub, user, userId])
  })
  const handler = createMcpHandler(server)
  const as =
    (auth: Partial<AuthInfo> & Body) =>
    async (method: string, params: Body): Promise<{ status: number; body: Body }> => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': capabilities,
      }
      const request = new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          'mcp-name': String(params.taskId ?? params.name),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
      })
      const response = await handler.fetch(request, { auth: auth as AuthInfo })
      return { status: response.status, body: (await response.json()) as Body }
    }
  return { store, wipe, as, close: () => handler.close(0) }
}

const user = { issuer: 'https://as.example', clientId: 'app', scopes: ['read', 'write'] }

describe('a task of an authenticated user', () => {
  it.each([
    ['another subject', { ...user, subject: 'ann' }, { ...user, subject: 'bob' }],
    ['another issuer', { ...user, subject: 'ann' }, { ...user, subject: 'ann', issuer: 'https://other.example' }],
    ['another address', { ...user, extra: { email: 'a@x' } }, { ...user, extra: { email: 'b@x' } }],
  ])('CVE-2026-52870: does not exist for %s with the same client [TASK-049, XTASK-039]', async (_, ann, bob) => {
    const { as, close } = place()
    const { body } = await as(ann)('tools/call', { name: 'wipe' })
    const { taskId } = body.result as { taskId: string }
    const unknown = await as(bob)('tasks/get', { taskId: 'nothing' })
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const answer = await as(bob)(method, { taskId, inputResponses: {} })
      expect(answer.body.error).toEqual(unknown.body.error)
    }
    expect((await as(ann)('tasks/get', { taskId })).body.result).toMatchObject({ taskId })
    await close()
  })

  it('cannot be seen, answered or cancelled without the scopes of its tool', async () => {
    const { as, close } = place()
    const ann = { ...user, subject: 'ann' }
    const { taskId } = (await as(ann)('tools/call', { name: 'wipe' })).body.result as { taskId: string }
    const less = as({ ...ann, scopes: ['read'] })
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { body } = await less(method, { taskId, inputResponses: { 'elicitation#1': { action: 'accept' } } })
      expect(body.error).toMatchObject({ message: expect.stringContaining('write') })
    }
    expect((await as(ann)('tasks/get', { taskId })).body.result).not.toMatchObject({ status: 'cancelled' })
    expect((await less('tools/call', { name: 'wipe' })).body.error).toMatchObject({
      message: expect.stringContaining('write'),
    })
    await close()
  })

  it.each([
    ['is disabled', ({ wipe }: ReturnType<typeof place>) => wipe.disable()],
    ['is removed', ({ wipe }: ReturnType<typeof place>) => wipe.remove()],
    ['no longer requires scopes', ({ wipe }: ReturnType<typeof place>) => wipe.update({ requiredScopes: [] })],
  ])('requires the scopes of its tool after the tool %s [XTASK-039]', async (_, change) => {
    const vault = place()
    const ann = { ...user, subject: 'ann' }
    const { taskId } = (await vault.as(ann)('tools/call', { name: 'wipe' })).body.result as { taskId: string }
    change(vault)
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { status, body } = await vault.as({ ...ann, scopes: ['read'] })(method, { taskId, inputResponses: {} })
      expect([status, body.error], method).toMatchObject([403, { message: expect.stringContaining('write') }])
    }
    expect((await vault.as(ann)('tasks/get', { taskId })).body.result).toMatchObject({ taskId })
    await vault.close()
  })

  it('requires the scopes that its tool had when the task was created and those that it has now', async () => {
    const { wipe, as, close } = place()
    const ann = { ...user, subject: 'ann' }
    const { taskId } = (await as(ann)('tools/call', { name: 'wipe' })).body.result as { taskId: string }
    wipe.update({ requiredScopes: ['admin'] })
    for (const scopes of [['write'], ['admin']]) {
      const { body } = await as({ ...ann, scopes })('tasks/get', { taskId })
      expect(body.error).toMatchObject({ data: { scopes: ['write', 'admin'] } })
    }
    expect((await as({ ...ann, scopes: ['write', 'admin'] })('tasks/get', { taskId })).body.result).toBeDefined()
    await close()
  })

  it('is stored without the token, whatever an outer layer left on the request', async () => {
    const { store, as, close } = place()
    const { body } = await as({ ...user, subject: 'ann', token: 'secret-token' })('tools/call', { name: 'wipe' })
    const { taskId } = body.result as { taskId: string }
    const kept = JSON.stringify([await store.get(taskId), await store.notes(taskId)])
    expect(kept).toContain('ann')
    expect(kept).not.toContain('secret-token')
    await close()
  })

  it.each([
    ['a JWT', { iss: 'https://as.example', sub: 'ann', scopes: ['write'] }],
    ['a user name', { user: 'ann', password: 'secret-token', scopes: ['write'] }],
    ['a user id', { userId: 7, sessionClaims: { secret: 'secret-token' }, scopes: ['write'] }],
  ])('runs with the identity from %s, and stores no secrets', async (_, auth) => {
    const { store, as, close } = place()
    const { body } = await as(auth)('tools/call', { name: 'whoami' })
    const { taskId } = body.result as { taskId: string }
    await expect
      .poll(async () => (await as(auth)('tasks/get', { taskId })).body.result)
      .toMatchObject({ status: 'completed' })
    const kept = JSON.stringify([await store.get(taskId), await store.notes(taskId)])
    const { iss, sub, user, userId } = auth as Record<string, unknown>
    const { result } = (await as(auth)('tasks/get', { taskId })).body as { result: { result: Body } }
    expect(result.result).toMatchObject({ content: [{ text: JSON.stringify([iss, sub, user, userId]) }] })
    expect(kept).not.toContain('secret-token')
    await close()
  })
})
