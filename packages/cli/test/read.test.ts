import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { fixture, Workspace } from './support.ts'
import { startWebSite } from './web-site.ts'

const workshop = fixture('workshop.js')

it('prints a resource, and saves a binary one', async () => {
  using work = new Workspace()
  expect(await work.run(['read', workshop, 'note://today'])).toEqual({ code: 0, stdout: 'Buy milk\n', stderr: '' })
  expect((await work.run(['read', workshop, 'note://today', '--raw'])).stdout).toBe('Buy milk')
  const picture = await work.run(['read', workshop, 'note://picture.png'])
  expect(picture.stderr).toContain('(image/png, 70 bytes: save it with --output <folder>)')
  const saved = await work.run(['read', 'note://picture.png', '--output', '.', '--', process.execPath, workshop])
  expect(saved.stdout).toBe('picture.png\n')
  expect(readdirSync(work.path)).toContain('picture.png')
  const json = await work.run(['read', workshop, 'note://today', '--json'])
  expect(readJson('read', json.stdout).contents[0].text).toBe('Buy milk')
})

it('suggests similar names for a prompt or resource that does not exist', async () => {
  using work = new Workspace()
  const prompt = await work.run(['prompt', workshop, 'reveiw', 'code=x', '--json'])
  expect(prompt.code).toBe(1)
  expect(readJson('error', prompt.stdout).error).toEqual({
    code: 'not-found',
    message: 'The server has no prompt "reveiw".',
    hint: 'Similar: review',
  })
  const resource = await work.run(['read', workshop, 'note://todya'])
  expect(resource.stderr).toBe('tenon: The server has no resource "note://todya".\nSimilar: note://today\n')
})

it('fills in a template, and says which values are missing', async () => {
  using work = new Workspace()
  const { stdout } = await work.run(['read', workshop, 'day://{year}/{name}', 'year=2026', 'name=a b'])
  expect(stdout).toBe('a b of 2026 (day://2026/a%20b)\n')
  const missing = await work.run(['read', workshop, 'day://{year}/{name}', 'year=2026'])
  expect(missing.code).toBe(2)
  expect(missing.stderr).toContain('Add name=.... "tenon complete" suggests values.')
  expect((await work.run(['read', workshop, 'day://{year}', 'year=1', 'x=1'])).code).toBe(2)
  expect((await work.run(['read', workshop, 'note://today', 'x=1'])).code).toBe(2)
})

it('reports a resource that does not exist', async () => {
  using work = new Workspace()
  const { code, stdout } = await work.run(['read', workshop, 'note://nothing', '--json'])
  expect(code).toBe(1)
  readJson('error', stdout)
})

it('prints the messages of a prompt', async () => {
  using work = new Workspace()
  const { stdout } = await work.run(['prompt', workshop, 'review', 'code=x=1', 'language=python'])
  expect(stdout).toBe('Review this python code: x=1\n')
  const json = readJson('prompt', (await work.run(['prompt', workshop, 'review', 'code=1', '--json'])).stdout)
  expect(json.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Review this unknown code: 1' } }])
  const missing = await work.run(['prompt', workshop, 'review'])
  expect(missing.code).toBe(1)
  expect((await work.run(['prompt', workshop])).code).toBe(2)
})

it.each(['2025-11-25', '2026-07-28'])('suggests values for arguments on %s', async (revision) => {
  using work = new Workspace()
  const complete = (...args: string[]) => work.run(['complete', workshop, '--revision', revision, ...args])
  expect((await complete('review', 'language=ty')).stdout).toBe('typescript\n')
  expect((await complete('day://{year}/{name}', 'name=m', 'year=2026')).stdout).toBe('monday2026\n')
  const json = await complete('day://{year}/{name}', 'year=', '--json')
  expect(readJson('complete', json.stdout).values).toEqual(['2025', '2026'])
  expect((await complete('review', 'language=zz')).stderr).toContain('suggests nothing')
  expect((await complete('review')).code).toBe(2)
})

it.each(['read', 'prompt', 'complete', 'task'])(
  '%s reports a web page and a program that are not servers',
  async (verb) => {
    using work = new Workspace()
    await using site = await startWebSite()
    const words = verb === 'complete' ? ['x', 'a='] : ['x']
    const page = await work.run([verb, site.url, ...words, '--json'])
    expect(page.code).toBe(3)
    readJson('error', page.stdout)
    const program = await work.run([
      verb,
      '--json',
      '--timeout',
      '1.5',
      ...words,
      '--',
      process.execPath,
      fixture('junk.js'),
    ])
    expect(program.code).toBe(5)
    readJson('error', program.stdout)
  },
)
