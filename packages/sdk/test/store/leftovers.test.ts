import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { hasRedis } from '../kit/redis-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenon-leftovers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a test process that is killed', () => {
  it.skipIf(!hasRedis)('leaves no redis-server process or directory behind', async () => {
    const program = await bundle('redis', '../kit/redis-server.ts', (from) => [
      `import { RedisServer } from ${from}`,
      `const server = await RedisServer.start()`,
      `process.send({ port: server.port, directory: server.directory })`,
    ])
    const child = fork(program, { execArgv: [] })
    const [{ port, directory }] = (await once(child, 'message')) as [{ port: number; directory: string }]
    expect(await isListening(port)).toBe(true)
    expect(existsSync(directory)).toBe(true)
    child.kill('SIGKILL')
    await eventually(async () => !(await isListening(port)))
    await eventually(async () => !existsSync(directory))
  })

  it('leaves no processes behind that it forked or whose output it reads', async () => {
    const helper = JSON.stringify(fileURLToPath(new URL('../kit/end-with-parent.js', import.meta.url)))
    // Each process listens on a port while it runs.
    const listens = (tell: string) => [
      `import { endWithParent } from ${helper}`,
      `import { createServer } from 'node:net'`,
      `endWithParent()`,
      `const server = createServer().listen(0, '127.0.0.1', () => { const { port } = server.address(); ${tell} })`,
    ]
    const forked = write('forked', listens('process.send({ port })'))
    const spawned = write('spawned', listens('console.log(port)'))
    const parent = write('parent', [
      `import { fork, spawn } from 'node:child_process'`,
      `import { once } from 'node:events'`,
      `const one = fork(${JSON.stringify(forked)})`,
      `const other = spawn(process.execPath, [${JSON.stringify(spawned)}])`,
      `const [[{ port }], [text]] = await Promise.all([once(one, 'message'), once(other.stdout, 'data')])`,
      `process.send([port, Number(text)])`,
    ])
    const child = fork(parent, { execArgv: [] })
    const [ports] = (await once(child, 'message')) as [number[]]
    for (const port of ports) expect(await isListening(port)).toBe(true)
    child.kill('SIGKILL')
    for (const port of ports) await eventually(async () => !(await isListening(port)))
  })
})

function write(name: string, lines: string[]): string {
  const path = join(folder, `${name}.mjs`)
  writeFileSync(path, lines.join('\n'))
  return path
}

/** Bundles a test module, because a child process cannot run TypeScript directly. */
async function bundle(name: string, module: string, lines: (from: string) => string[]): Promise<string> {
  const from = JSON.stringify(fileURLToPath(new URL(module, import.meta.url)))
  const outfile = join(folder, `${name}.bundle.mjs`)
  await build({ entryPoints: [write(name, lines(from))], outfile, bundle: true, format: 'esm', platform: 'node' })
  return outfile
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
