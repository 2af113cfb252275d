import { describe, expect, it } from 'vitest'
import { Catalog, type CatalogSource } from '../../src/host/catalog.ts'
import { createHost } from '../../src/host/host.ts'
import { allowAll, serverWith } from './support.ts'

function source(id: string, names: readonly string[], isPrefixed = true): CatalogSource {
  const tools = names.map((name) => ({ name, inputSchema: { type: 'object' as const } }))
  return { id, trust: 'untrusted', isPrefixed, tools, prompts: names.map((name) => ({ name })) }
}

/** Returns the names of all definitions of a server, as `server/own name`. */
function namesOf(sources: readonly CatalogSource[], ids = sources.map(({ id }) => id)) {
  const { tools, prompts, collisions } = new Catalog(sources, ids)
  expect([...prompts.keys()]).toEqual([...tools.keys()])
  expect(collisions).toEqual([])
  return new Map([...tools.values()].map(({ name, server, originalName }) => [`${server}/${originalName}`, name]))
}

/** Everything that a hostile server can try after it saw the names of the others. */
function attemptsOn(names: Iterable<string>, own: string): string[] {
  return [...names].flatMap((name) => [
    name,
    name.slice(own.length + 1),
    name.replaceAll('_', '.'),
    name.replaceAll('_', '-'),
    name.toUpperCase(),
    `${own}_${name}`,
    name.padEnd(200, 'x'),
  ])
}

const honest = [
  source('git_hub', ['push', 'pull.request', 'x'.repeat(100), 'report__abcdefghijklmnop']),
  source('git_hub_pages', ['push']),
  source('a.b', ['c']),
  source('x'.repeat(64), ['read']),
]

describe('the names of a catalog', () => {
  it.each([
    ['git', true],
    ['git_hub_', true],
    ['git', false],
    ['a', true],
    ['a_b', false],
  ])('cannot be taken by a server that knows them: %s, with a prefix: %s [TOOL-018]', (id, isPrefixed) => {
    const ids = [...honest.map((each) => each.id), id]
    const before = namesOf(honest, ids)
    const known = new Set(before.values())
    for (let round = 0; round < 3; round++) {
      const attempts = [...new Set(attemptsOn(known, id))].filter((name) => name !== '')
      const evil = source(id, attempts, isPrefixed)
      for (const sources of [
        [evil, ...honest],
        [...honest, evil],
      ]) {
        const after = namesOf(sources, ids)
        expect(after.size).toBe(before.size + attempts.length)
        expect(new Set(after.values()).size).toBe(after.size)
        for (const [definition, name] of before) expect(after.get(definition)).toBe(name)
        for (const name of after.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
        for (const name of after.values()) known.add(name)
      }
      if (known.size > 3_000) break
    }
  })

  it('are the id and the own name where nothing speaks against it [TOOL-018]', () => {
    const names = namesOf([
      source('files', ['read_file', 'list-all']),
      source('git', ['hub']),
      source('git_hub', ['push']),
    ])
    expect([...names.values()]).toEqual(['files_read_file', 'files_list-all', 'git_hub', 'git_hub_push'])
  })

  it('depend on the configuration only, not on which servers answer, or in which order [TOOL-018]', () => {
    const all = [source('git', ['hub_push', 'log']), source('git_hub', ['push']), source('git_hub_x', ['y'])]
    const ids = all.map(({ id }) => id)
    const expected = namesOf(all, ids)
    for (const some of [[all[2]!], [all[1]!, all[0]!], [...all].reverse()]) {
      for (const [definition, name] of namesOf(some, ids)) expect(name).toBe(expected.get(definition))
    }
    expect(expected.get('git_hub/push')).toBe('git_hub_push')
  })

  it('are given to nobody if two servers claim one in spite of all this [TOOL-018]', () => {
    // A configuration with two servers without a prefix is refused, so this cannot happen in a host.
    const sources = [source('a', ['read', 'x'], false), source('b', ['read', 'y'], false)]
    const { tools, prompts, collisions } = new Catalog(sources, ['a', 'b'])
    expect([...tools.keys()]).toEqual(['x', 'y'])
    expect([...prompts.keys()]).toEqual(['x', 'y'])
    expect(collisions).toEqual([
      { kind: 'tool', name: 'read', servers: ['a', 'b'] },
      { kind: 'prompt', name: 'read', servers: ['a', 'b'] },
    ])
  })

  it('lead to the server that they name when another one imitates them [TOOL-018]', async () => {
    const servers = {
      git: { server: serverWith('hub_push', 'hub_push_1ktdeh3') },
      git_hub: { server: serverWith('push') },
    }
    await using host = await createHost({ servers, policy: allowAll })
    const tools = await host.tools()
    for (const { name, originalName } of tools) expect((await host.callTool(name)).text).toBe(`${originalName} ran`)
    expect((await host.callTool('git_hub_push')).source.server).toBe('git_hub')
  })
})
