import { expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { fixture, Workspace } from './support.ts'
import { startWorkshop } from './workshop.ts'

it.each(['2025-11-25', '2026-07-28'])('starts a task, and prints its result later, on %s', async (revision) => {
  using work = new Workspace()
  await using workshop = await startWorkshop()
  const options = ['--revision', revision]
  const started = await work.run(['call', workshop.url, 'job', 'steps=100', '--task', '--json', ...options])
  const { task } = readJson('task', started.stdout)
  expect(task.status).toBe('working')
  const watched = await work.run(['task', workshop.url, task.id, ...options])
  expect(watched).toMatchObject({ code: 0, stdout: 'Did 100 steps\n' })
  const json = await work.run(['task', workshop.url, task.id, '--json', ...options])
  expect(readJson('call', json.stdout).content[0].text).toBe('Did 100 steps')
})

it('prints the id of a task and how to watch it', async () => {
  using work = new Workspace()
  await using workshop = await startWorkshop()
  const { stdout, stderr } = await work.run(['call', workshop.url, 'job', 'steps=1000', '--task'])
  const id = stdout.trim()
  expect(stderr).toContain(`tenon task ${workshop.url} ${id}`)
  const cancelled = await work.run(['task', workshop.url, id, '--cancel', '--json'])
  expect(readJson('task', cancelled.stdout).task).toMatchObject({ id, status: 'cancelled' })
  const after = await work.run(['task', workshop.url, id])
  expect(after.code).toBe(1)
  expect(after.stderr).toContain('cancelled')
})

it('cancels a task on Ctrl-C, and says so', async () => {
  using work = new Workspace()
  await using workshop = await startWorkshop()
  const id = (await work.run(['call', workshop.url, 'job', 'steps=5000', '--task'])).stdout.trim()
  await using child = work.start(['task', workshop.url, id, '--trace'])
  await child.until(() => child.stderr.includes('working'))
  child.child.kill('SIGINT')
  expect((await child.exited).code).toBe(130)
  expect(child.stderr).toContain('tenon: You cancelled the task.')
  const after = await work.run(['task', workshop.url, id, '--cancel', '--json'])
  expect(JSON.stringify(JSON.parse(after.stdout))).toContain('cancelled')
})

it('reports a task that does not exist', async () => {
  using work = new Workspace()
  await using workshop = await startWorkshop()
  const { code, stdout } = await work.run(['task', workshop.url, 'nothing', '--json'])
  expect(code).toBe(1)
  readJson('error', stdout)
  expect((await work.run(['task', workshop.url])).code).toBe(2)
})

it('says why there is no task', async () => {
  using work = new Workspace()
  const called = async (...args: string[]) => (await work.run(['call', ...args, '--task'])).stderr.replace(/\s+/g, ' ')
  expect(await called(fixture('workshop.js'), 'typed', 'count=1')).toContain('This tool cannot run as a task')
  expect(await called(fixture('notes.js'), 'echo', 'text=x')).toContain('The server has no tasks')
})
