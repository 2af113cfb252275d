import { chmodSync } from 'node:fs'
import { connect } from 'tenon/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import type { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import type { CliError } from '../src/exit-codes.ts'
import { type CallerFlags, readCallerAuth } from '../src/serve/caller-auth.ts'
import { fixture, Workspace } from './support.ts'

const notes = fixture('notes.js')
const everywhere = ['--host', '0.0.0.0', '--port', '0']
const withToken = (token: string) => ({ authorization: `Bearer ${token}` })

/** The URL on stdout, with an address that every machine has. */
async function urlOf(served: NodeProcess): Promise<string> {
  const url = await served.until(() => /^http\S+(?=\n)/.exec(served.stdout)?.[0])
  return url.replace('localhost', '127.0.0.1')
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(body),
  })
}

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  return (await post(url, initialize, headers)).status
}

/** What each command needs besides the options of callers. */
function commands(work: Workspace): Record<'serve' | 'gateway', string[]> {
  return {
    serve: ['serve', notes],
    gateway: ['gateway', work.writeConfig(['notes']), '--allow-all', '--trust-config'],
  }
}

describe.each(['serve', 'gateway'] as const)('callers of tenon %s', (name) => {
  it('are refused on another address before anything starts, if they need no token', async () => {
    using work = new Workspace()
    const { code, stdout, stderr } = await work.run([...commands(work)[name], ...everywhere])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Listening on 0.0.0.0 needs a token')
    expect(stderr).not.toContain('Servers')
  })

  it('are told apart by their tokens: neither sessions nor tasks of one can be used by the other', async () => {
    using work = new Workspace()
    const args = withJobs(work, commands(work)[name])
    const tokens = work.write('tokens', '# Two people\nalice: a-token-of-alice\n\nbob: a-token-of-bob-1\n')
    chmodSync(tokens, 0o600)
    await using served = work.start([...args, ...everywhere, '--token-file', tokens])
    const url = await urlOf(served)
    expect(await statusOf(url)).toBe(401)
    expect(await statusOf(url, withToken('a-token-of-carol'))).toBe(401)
    const alice = withToken('a-token-of-alice')
    const bob = withToken('a-token-of-bob-1')
    const opened = await post(url, initialize, alice)
    expect(opened.status).toBe(200)
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
    expect((await post(url, ping, { ...session, ...alice })).status).toBe(200)
    expect((await post(url, ping, { ...session, ...bob })).status).toBe(404)
    expect((await post(url, ping, session)).status).toBe(401)
    const revision = '2025-11-25'
    await using first = await connect(url, { revision, headers: alice, tasks: true })
    await using second = await connect(url, { revision, headers: bob, tasks: true })
    const { tools } = await first.listTools()
    const job = tools.find((tool) => tool.name.endsWith('job'))?.name ?? ''
    const task = await first.callToolAsTask(job)
    expect((await first.listTasks()).tasks).toHaveLength(1)
    expect((await second.listTasks()).tasks).toHaveLength(0)
    await expect(second.resumeTask(task.id ?? '').result()).rejects.toThrow(/not found/i)
  })

  it('are authenticated by a token of the environment', async () => {
    using work = new Workspace()
    await using served = work.start([...commands(work)[name], ...everywhere], {
      TENON_SERVE_TOKEN: 'alice:secret-of-alice-1',
    })
    const url = await urlOf(served)
    const refused = await post(url, initialize)
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer/)
    expect(await statusOf(url, withToken('alice:secret-of-alice-1'))).toBe(400)
    expect(await statusOf(url, withToken('secret-of-alice-1'))).toBe(200)
    expect(await statusOf(url, { ...withToken('secret-of-alice-1'), origin: 'https://evil.example' })).toBe(403)
    expect(served.stdout + served.stderr).not.toContain('secret-of-alice-1')
  })
})

describe('callers of tenon gateway', () => {
  it('are authenticated by JWTs of an issuer whose keys are known', async () => {
    using work = new Workspace()
    await using issuer = await startAuthorizationServer()
    const options = ['--jwks', `${issuer.issuer}/jwks`, '--issuer', issuer.issuer, '--audience', 'https://mcp.example/']
    await using served = work.start([...commands(work).gateway, ...everywhere, ...options])
    const url = await urlOf(served)
    const ours = await issuer.issueToken({ sub: 'alice', resource: 'https://mcp.example/' })
    const foreign = await issuer.issueToken({ sub: 'alice', resource: 'https://other.example/' })
    const expired = await issuer.issueToken({ sub: 'alice', resource: 'https://mcp.example/', expiresIn: -60 })
    expect(await statusOf(url, withToken(ours))).toBe(200)
    expect(await statusOf(url, withToken(foreign))).toBe(401)
    expect(await statusOf(url, withToken(expired))).toBe(401)
    expect(await statusOf(url)).toBe(401)
  })

  it('find the login by OAuth, and tokens for another URL are refused', async () => {
    using work = new Workspace()
    await using issuer = await startAuthorizationServer()
    const publicUrl = 'https://mcp.example/mcp'
    const options = ['--oauth', issuer.issuer, '--public-url', publicUrl]
    await using served = work.start([...commands(work).gateway, ...everywhere, ...options])
    const url = await urlOf(served)
    const refused = await post(url, initialize)
    const metadataUrl = 'https://mcp.example/.well-known/oauth-protected-resource/mcp'
    expect(refused.headers.get('www-authenticate')).toContain(`resource_metadata="${metadataUrl}"`)
    const document = await fetch(new URL(new URL(metadataUrl).pathname, url))
    expect(await document.json()).toMatchObject({ resource: publicUrl, authorization_servers: [issuer.issuer] })
    expect(await statusOf(url, withToken(await issuer.issueToken({ resource: publicUrl })))).toBe(200)
    expect(await statusOf(url, withToken(await issuer.issueToken({ resource: url })))).toBe(401)
  })
})

describe('options that say who may call', () => {
  it.each(['0.0.0.0', '::', '', '10.0.0.1', 'example.com', '127.0.0.1.example.com', '::ffff:127.0.0.1'])(
    'are required on "%s"',
    (address) => {
      const error = errorOf({}, address)
      expect(error?.message).toContain('needs a token')
      for (const way of ['--token-file', '--jwks', '--oauth', 'TENON_SERVE_TOKEN', '127.0.0.1'])
        expect(error?.hint).toContain(way)
    },
  )

  it.each(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])('are not required on %s', (address) => {
    expect(readCallerAuth({}, address)).toBeUndefined()
  })

  it.each<{ flags: CallerFlags; message: string; address?: string }>([
    { flags: { token: [''] }, message: 'The token is empty' },
    { flags: { token: ['alice:'] }, message: 'The token is empty' },
    { flags: { token: ['with spaces'] }, message: 'cannot be sent' },
    { flags: { token: ['al ice:a-token'] }, message: 'Invalid name' },
    { flags: { token: ['a:same-token', 'b:same-token'] }, message: 'two names' },
    { flags: { tokenFile: 'no-such-file' }, message: 'Cannot read' },
    { flags: { jwks: 'https://a.example/jwks' }, message: '--issuer' },
    { flags: { jwks: 'https://a.example/jwks', issuer: 'https://a.example' }, message: '--audience' },
    { flags: { issuer: 'https://a.example' }, message: 'keys of the issuer' },
    { flags: { oauth: 'http://a.example' }, message: 'https:' },
    { flags: { oauth: 'https://a.example', issuer: 'https://b.example' }, message: 'different issuers' },
    { flags: { oauth: 'https://a.example' }, message: '--public-url', address: '0.0.0.0' },
    { flags: { oauth: 'https://a.example', publicUrl: 'mcp' }, message: 'Not a URL' },
  ])('are refused: $flags', ({ flags, message, address = '127.0.0.1' }) => {
    expect(errorOf(flags, address)?.message).toContain(message)
  })

  it('give every token a name, and callers with the same name are one', async () => {
    const auth = readCallerAuth(
      { token: ['alice:the-old-token-01', 'alice:the-new-token-01', 'unnamed-token-01', 'unnamed-token-02'] },
      '::',
    )
    const request = { method: 'POST', urls: [], header: () => undefined, isFor: () => false }
    const subjectOf = async (token: string) => (await auth?.verifier(token, request))?.subject
    expect(await subjectOf('the-old-token-01')).toBe('alice')
    expect(await subjectOf('the-new-token-01')).toBe('alice')
    // Names are in logs, so they must not tell anything about the token.
    expect(await subjectOf('unnamed-token-01')).toBe('token-1')
    expect(await subjectOf('unnamed-token-02')).toBe('token-2')
    expect(await subjectOf('alice')).toBeUndefined()
    expect(auth?.warnings.join(' ')).toContain('can see --token')
  })

  it('warn of short tokens and of files that others can read', () => {
    using work = new Workspace()
    const tokenFile = work.write('tokens', 'alice: short\n')
    chmodSync(tokenFile, 0o644)
    const warnings = readCallerAuth({ tokenFile }, '127.0.0.1')?.warnings.join(' ')
    expect(warnings).toContain('The token of alice is short')
    expect(warnings).toContain(`chmod 600 ${tokenFile}`)
  })

  it.each(['0.0.0.0', '::', '', '10.0.0.1'])('are refused on "%s" if a token is short', (address) => {
    const error = errorOf({ token: ['alice:a-long-enough-token', 'bob:fifteen-letters'] }, address)
    expect(error).toMatchObject({ exitCode: 2, message: expect.stringContaining('The token of bob is too short') })
    expect(error?.hint).toContain('openssl rand -hex 32')
    expect(errorOf({ token: ['alice:a-long-enough-token', 'bob:sixteen-letters1'] }, address)).toBeUndefined()
  })

  it('give no name of another caller to a token without one', async () => {
    const auth = readCallerAuth({ token: ['unnamed-token-01', 'token-1:the-token-of-another'] }, '::')
    const request = { method: 'POST', urls: [], header: () => undefined, isFor: () => false }
    const subjects = ['unnamed-token-01', 'the-token-of-another'].map((token) => auth?.verifier(token, request))
    expect((await Promise.all(subjects)).map((found) => found?.subject)).toEqual(['token-2', 'token-1'])
  })

  it('do not fit to stdio', () => {
    expect(() => readCallerAuth({ token: ['a-token'] }, undefined)).toThrow('Tokens are for HTTP')
  })
})

function errorOf(flags: CallerFlags, address: string): CliError | undefined {
  try {
    readCallerAuth(flags, address)
    return undefined
  } catch (error) {
    return error as CliError
  }
}

/** Replaces the server of a command by one with a tool that runs as a task and does not end. */
function withJobs(work: Workspace, [command = '', ...options]: readonly string[]): string[] {
  const library = (name: string) => new URL(`../../sdk/dist/lib/${name}.js`, import.meta.url).href
  const script = work.write(
    'jobs.mjs',
    `import { McpServer, serveStdio } from '${library('server')}'
     import { tasks } from '${library('tasks')}'
     const server = new McpServer({ name: 'jobs', version: '1.0.0' }, { tasks: tasks() })
     server.registerTool('job', { execution: { taskSupport: 'optional' } }, (_args, ctx) =>
       new Promise((resolve) => ctx.signal.addEventListener('abort', resolve)))
     await serveStdio(server)`,
  )
  const entry = { command: process.execPath, args: [script] }
  const target = command === 'serve' ? script : work.write('mcp.json', { mcpServers: { jobs: entry } })
  return [command, target, ...options.slice(1)]
}
