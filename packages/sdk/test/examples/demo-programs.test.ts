import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../kit/child-process.ts'

const program = (name: string) => fileURLToPath(new URL(`../../../../examples/dist/demo/${name}.js`, import.meta.url))

describe('the demo programs', () => {
  it('prints the tour of all revisions within 80 columns', async () => {
    const stdout = await runNode([program('tour')])
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toContain('2026-07-28')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  }, 60_000)

  it('prints no task status while its form waits for input', async () => {
    const child = spawn(process.execPath, [program('task')], { stdio: ['pipe', 'pipe', 'pipe'] })
    const printed = text(child.stdout)
    child.stderr.setEncoding('utf8').on('data', (form: string) => {
      if (form.includes('name  required')) child.stdin.write('Ada\n')
      if (form.includes('Send?')) child.stdin.write('yes\n')
    })
    const lines = (await printed).trimEnd().split('\n')
    expect(lines.at(-1)).toBe('The tool says: 2 notes were proofread by Ada.')
    expect(lines.join('\n')).not.toContain('input_required')
  }, 60_000)
})
