import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { privateMembersOf } from './wrappers.ts'

const sources = fileURLToPath(new URL('../../src', import.meta.url))
const modules = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))

it('exports no class with a #private member, in any module', async () => {
  const found: string[] = []
  for (const module of modules) {
    for (const [name, value] of Object.entries(await import(join(sources, module)))) {
      if (typeof value !== 'function') continue
      const members = privateMembersOf(value as never)
      if (members.length > 0) found.push(`${module} ${name}: ${members.join(' ')}`)
    }
  }
  expect(found).toEqual([])
})
