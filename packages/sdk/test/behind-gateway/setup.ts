import { basename } from 'node:path'
import { beforeAll, beforeEach, expect } from 'vitest'
import { notPossible } from './not-possible.ts'

interface Task {
  readonly name: string
  readonly tasks?: readonly Task[]
}

const fileOf = (path: string | undefined) => basename(path ?? '', '.test.ts')

// A reason that applies to no test is outdated.
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the first parameter to know what the hook needs
beforeAll(({}, file) => {
  const reasons = notPossible[fileOf(file.name)] ?? {}
  const titles = titlesIn(file)
  expect(Object.keys(reasons).filter((part) => !titles.some((title) => title.includes(part)))).toEqual([])
})

beforeEach(({ task, skip }) => {
  const reasons = notPossible[fileOf(task.file.name)] ?? {}
  const found = Object.keys(reasons).find((part) => task.fullTestName.includes(part))
  if (found !== undefined) skip(reasons[found])
})

function titlesIn({ name, tasks }: Task, before = ''): string[] {
  const title = `${before} ${name}`
  return tasks ? tasks.flatMap((task) => titlesIn(task, title)) : [title]
}
