import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../kit/child-process.ts'

const fixture = fileURLToPath(new URL('./many-clients.fixture.js', import.meta.url))

describe('one server object', () => {
  it('serves 1,000 concurrent clients of mixed revisions, sends each its own responses and frees their memory [VER-030, LIFE-023]', async () => {
    const stdout = await runNode(['--expose-gc', fixture])
    const seen = JSON.parse(stdout)
    expect(seen.answered).toBe(100_000)
    expect(seen.wrong).toBe(0)
    expect(seen.after / seen.before).toBeLessThan(1.05)
  }, 300_000)
})
