import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { describe, expect, it } from 'vitest'

const docs = new URL('../../../../docs', import.meta.url).pathname
const pages = readdirSync(docs).filter((name) => name.endsWith('.md'))
const textOf = (page: string) => readFileSync(join(docs, page), 'utf8')

describe('extensions that a server can offer', () => {
  it('are documented with what happens without them [VER-035]', async () => {
    const server = new McpServer({ name: 'all', version: '1' }, { tasks: tasks() })
    await using client = await connect(server, { revision: '2026-07-28' })
    const offered = Object.keys(client.getServerCapabilities()?.extensions ?? {})
    expect(offered).toEqual(['io.modelcontextprotocol/tasks'])
    for (const id of offered) {
      const page = pages.find((name) => textOf(name).includes(id))
      expect(page && textOf(page), id).toMatch(/without the extension \|/)
    }
  })
})
