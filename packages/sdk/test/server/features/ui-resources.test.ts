import { McpServer } from 'tenon/server'
import { describe, expect } from 'vitest'
import { everyWire } from '../../kit/every-wire.ts'

describe('a server with a user interface for its tool', () => {
  everyWire(
    'names the ui:// resource in the metadata of the tool and serves it with its MIME type [APP-002]',
    async (wire) => {
      const server = new McpServer({ name: 'weather', version: '1.0.0' })
      const uri = 'ui://weather/view.html'
      const mimeType = 'text/html;profile=mcp-app'
      server.registerTool('weather', { _meta: { ui: { resourceUri: uri } } }, () => 'sunny')
      server.registerResource('view', uri, { mimeType }, () => '<!doctype html>')
      await using pair = await wire.connect(server)
      const [tool] = (await pair.client.listTools()).tools
      expect(tool?._meta).toMatchObject({ ui: { resourceUri: uri } })
      expect((await pair.client.readResource(uri)).contents).toEqual([{ uri, mimeType, text: '<!doctype html>' }])
    },
    { revisions: ['2026-07-28'] },
  )
})
