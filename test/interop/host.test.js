import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientCredentials } from 'tenon/auth/client'
import { jwtVerifier } from 'tenon/auth/server'
import { connect } from 'tenon/client'
import { createGateway, createHost } from 'tenon/host'
import { McpServer, serveHttp } from 'tenon/server'
import { startIssuer } from './support/auth.js'
import { program } from './support/programs.js'

// Three real servers joined: the official everything and filesystem servers over stdio, and a server over HTTP with OAuth.

const everything = program('node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio')
const filesystem = program('node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
const allowAll = [{ kind: ['connect', 'definitions'], decide: 'allow' }, { decide: 'allow' }]

async function openHost(t) {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-host-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'note.txt'), 'The text of the note')
  const issuer = await startIssuer(t, {
    clients: [{ client_id: 'host', client_secret: 'a secret', grant_types: ['client_credentials'] }],
  })
  const shop = new McpServer({ name: 'shop', version: '1.0.0' })
  const inputSchema = { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] }
  shop.registerTool(
    'buy',
    { inputSchema, requiredScopes: ['buy'] },
    ({ item }, { auth }) => `${auth.clientId} bought ${item}`,
  )
  const auth = { verify: jwtVerifier({ issuer: issuer.issuer }), authorizationServers: [issuer.issuer] }
  const http = await serveHttp(shop, { port: 0, auth, exit: false })
  t.after(() => http.close())
  const files = { ...filesystem, args: [...filesystem.args, folder] }
  const credentials = clientCredentials({ clientId: 'host', clientSecret: 'a secret', scope: 'buy' })
  const host = await createHost({
    servers: { all: everything, files, shop: { url: http.url, auth: credentials } },
    policy: allowAll,
    limits: { listTimeoutMs: 60_000 },
  })
  t.after(() => host.close())
  return { host, folder }
}

test('a host joins three real servers, and a gateway serves them on every revision', async (t) => {
  const { host, folder } = await openHost(t)
  const tools = await host.tools()
  assert.deepEqual([...new Set(tools.map(({ server }) => server))], ['all', 'files', 'shop'])
  assert.equal((await host.callTool('all_echo', { message: 'hi' })).text, 'Echo: hi')
  assert.equal(
    (await host.callTool('files_read_text_file', { path: join(folder, 'note.txt') })).text,
    'The text of the note',
  )
  assert.equal((await host.callTool('shop_buy', { item: 'tea' })).text, 'host bought tea')
  const gateway = await serveHttp(createGateway(host), { port: 0, exit: false })
  t.after(() => gateway.close())
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']) {
    const client = await connect(gateway.url, { revision })
    assert.equal((await client.callTool('all_get-sum', { a: 2, b: 3 })).text, 'The sum of 2 and 3 is 5.')
    assert.equal((await client.callTool('shop_buy', { item: revision })).text, `host bought ${revision}`)
    await client.close()
  }
})

test('the published definitions of these servers raise no alarm', async (t) => {
  const { host } = await openHost(t)
  const findings = []
  host.on('finding', ({ server, finding }) => findings.push(`${server}: ${finding.rule} ${finding.severity}`))
  await host.tools()
  assert.deepEqual(
    findings.filter((finding) => finding.endsWith('high')),
    [],
  )
})

test('a server that is stopped in a call leaves the others working, and is started again', async (t) => {
  const { host, folder } = await openHost(t)
  await host.tools()
  const long = host.callTool('all_trigger-long-running-operation', { duration: 60, steps: 2 })
  const failed = assert.rejects(long, /Server "all"/)
  await host.disconnectServer('all')
  await failed
  assert.equal(
    (await host.callTool('files_read_text_file', { path: join(folder, 'note.txt') })).text,
    'The text of the note',
  )
  assert.equal((await host.callTool('shop_buy', { item: 'tea' })).text, 'host bought tea')
  assert.equal((await host.callTool('all_echo', { message: 'back' })).text, 'Echo: back')
})
