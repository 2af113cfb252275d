import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { diffTexts } from '../src/migrate/text-diff.ts'

const cases: [string, string, string][] = [
  ['at the end of a file', 'a\nb\nc\n', 'a\nb\nd\n'],
  ['in a file without a last line break', 'a\nb\nc', 'x\nb\nc'],
  ['of a last line without a line break', 'a\nb', 'a\nc'],
  ['that adds the last line break', 'a\nb', 'a\nb\n'],
]

it.each(cases)('git can apply a change %s', async (_, before, after) => {
  const folder = await mkdtemp(join(tmpdir(), 'tenon-diff-'))
  await writeFile(join(folder, 'file'), before)
  const patch = ['--- a/file', '+++ b/file', ...diffTexts(before, after), ''].join('\n')
  execFileSync('git', ['apply', '-'], { cwd: folder, input: patch })
  expect(await readFile(join(folder, 'file'), 'utf8')).toBe(after)
  await rm(folder, { recursive: true })
})
