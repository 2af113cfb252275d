import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { connectOfficialV1 } from './clients/official-v1.js'
import { connectOfficialV2 } from './clients/official-v2.js'
import { connectTenon } from './clients/tenon.js'
import { blocks, withOurSpecifiers } from './seed/blocks.js'
import { buildSeed } from './seed/build.js'
import { handshakes, program, revisions } from './support/programs.js'

// The examples of the seed document run with changed import specifiers only; these are the ones for stdio.

const seed = new URL('../../../shared/seeds/004_b1b8046a82e92d2d.txt', import.meta.url)

const clients = [
  ...revisions.map((revision) => ['Tenon', connectTenon, revision]),
  ...handshakes.map((revision) => ['official v1', connectOfficialV1, revision]),
  ...revisions.map((revision) => ['official v2', connectOfficialV2, revision]),
]

before(buildSeed)

describe('the stored examples', { skip: !existsSync(seed) && 'the seed document is not on this machine' }, () => {
  test('are all examples of the document', () => {
    const lines = readFileSync(seed, 'utf8').split('\n')
    const fences = lines.flatMap((line, index) => (line === '```typescript' ? [index + 1] : []))
    assert.deepEqual(
      blocks.map(({ line }) => line),
      fences,
    )
  })

  for (const { title, file, line } of blocks) {
    test(`equal the document except for import specifiers: ${title}`, () => {
      const lines = readFileSync(seed, 'utf8').split('\n')
      const block = lines.slice(line, lines.indexOf('```', line))
      const kept = readFileSync(new URL(`seed/${file}`, import.meta.url), 'utf8')
      assert.equal(kept, withOurSpecifiers(`${block.join('\n')}\n`))
    })
  }
})

test('Core Concepts, Server: connects with nothing registered', async (t) => {
  const peer = await connectTenon(program('seed/run.js', 'server'))
  t.after(() => peer.close())
  assert.deepEqual(peer.info, { name: 'my-app', version: '1.0.0' })
  await peer.ping()
})

test('Node.js Web Crypto compatibility: runs and changes nothing that exists [SDK-023]', async () => {
  const { crypto } = globalThis
  await import('./dist/seed/web-crypto.js')
  assert.equal(globalThis.crypto, crypto)
})

test('Node.js Web Crypto compatibility: gives a program the crypto that its Node lacks, and the server works with it [SDK-023]', async (t) => {
  const peer = await connectTenon(program('seed/run-without-crypto.js'))
  t.after(() => peer.close())
  assert.deepEqual(peer.info, { name: 'my-app', version: '1.0.0' })
  await peer.ping()
})

for (const [client, connect, revision] of clients) {
  describe(`${client} client, ${revision}`, () => {
    test('stdio: serves unchanged', async (t) => {
      const peer = await connect(program('dist/seed/stdio.js'), revision)
      t.after(() => peer.close())
      assert.equal(peer.revision, revision)
      assert.deepEqual(peer.info, { name: 'example-server', version: '1.0.0' })
      await peer.ping()
    })

    testEcho(connect, revision)
    testSqlite(connect, revision)
  })
}

function testEcho(connect, revision) {
  describe('Echo Server', () => {
    let peer
    before(async () => {
      peer = await connect(program('seed/run.js', 'echo'), revision)
    })
    after(() => peer?.close())

    test('has a tool', async () => {
      assert.equal(peer.revision, revision)
      assert.deepEqual(
        (await peer.tools()).map(({ name, description }) => [name, description]),
        [['echo', 'Echoes back the provided message']],
      )
      const { content, structuredContent } = await peer.call('echo', { message: 'hi' })
      assert.deepEqual(content, [{ type: 'text', text: '{"echo":"Tool echo: hi"}' }])
      assert.deepEqual(structuredContent, revision < '2025-06-18' ? undefined : { echo: 'Tool echo: hi' })
    })

    test('has a resource', async () => {
      const [{ uriTemplate }] = await peer.templates()
      assert.equal(uriTemplate, 'echo://{message}')
      assert.deepEqual(await peer.resources(), [])
      const { contents } = await peer.read('echo://hi')
      assert.deepEqual(contents, [{ uri: 'echo://hi', text: 'Resource echo: hi' }])
    })

    test('has a prompt [SDK-020]', async () => {
      const [{ arguments: args }] = await peer.prompts()
      assert.deepEqual(args, [{ name: 'message', required: true }])
      const { messages } = await peer.prompt('echo', { message: 'hi' })
      assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Please process this message: hi' } }])
    })
  })
}

function testSqlite(connect, revision) {
  describe('SQLite Explorer', () => {
    let folder
    let peer
    before(async () => {
      // The example opens database.db in its working directory.
      folder = await mkdtemp(join(tmpdir(), 'tenon-seed-'))
      peer = await connect({ ...program('seed/run.js', 'sqlite'), cwd: folder }, revision)
    })
    after(async () => {
      await peer?.close()
      await rm(folder, { recursive: true })
    })

    test('queries a database and shows its schema [SDK-020]', async () => {
      await peer.tools()
      const create = 'CREATE TABLE planks (id INTEGER PRIMARY KEY, wood TEXT)'
      assert.deepEqual(rowsOf(await peer.call('query', { sql: create })), { rows: [], rowCount: 0 })
      await peer.call('query', { sql: "INSERT INTO planks (wood) VALUES ('oak'), ('fir')" })
      const result = await peer.call('query', { sql: 'SELECT * FROM planks ORDER BY id' })
      const expected = {
        rows: [
          { id: 1, wood: 'oak' },
          { id: 2, wood: 'fir' },
        ],
        rowCount: 2,
      }
      assert.deepEqual(rowsOf(result), expected)
      assert.deepEqual(result.structuredContent, revision < '2025-06-18' ? undefined : expected)
      const { contents } = await peer.read('schema://main')
      assert.deepEqual(contents, [{ uri: 'schema://main', mimeType: 'text/plain', text: create }])
    })

    test('returns the SQLite error of an invalid query', async () => {
      const { isError, content } = await peer.call('query', { sql: 'SELECT * FROM nowhere' })
      assert.equal(isError, true)
      assert.match(content[0].text, /^Error: .*no such table: nowhere/)
    })
  })
}

function rowsOf({ content }) {
  return JSON.parse(content[0].text)
}
