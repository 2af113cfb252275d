import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { eventually } from '../kit/eventually.ts'
import { serveGateway } from './gateway-support.ts'

const fixture = fileURLToPath(new URL('./fixtures/hostile-results.mjs', import.meta.url))

describe('a session of a caller that ends', () => {
  it('ends the processes of that caller, and of no other', async () => {
    await using gateway = await serveGateway({ child: { command: process.execPath, args: [fixture] } })
    const leaving = await connect(gateway.url, { revision: '2025-11-25' })
    await using staying = await connect(gateway.url, { revision: '2025-11-25' })
    const pidOf = async (client: typeof leaving) => Number((await client.callTool('child_pid')).text)
    const [left, stayed] = [await pidOf(leaving), await pidOf(staying)]
    expect(left).not.toBe(stayed)
    await leaving.close()
    await eventually(() => !isAlive(left), 10_000)
    expect(await pidOf(staying)).toBe(stayed)
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
