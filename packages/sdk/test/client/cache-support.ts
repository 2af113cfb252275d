import { McpServer, ResourceTemplate } from 'tenon/server'

export function serverWith(options = {}) {
  const server = new McpServer({ name: 's', version: '1' }, options)
  for (const name of ['a', 'b', 'c']) {
    server.registerTool(name, {}, () => name)
    server.registerPrompt(name, {}, () => name)
    server.registerResource(name, `note://${name}`, {}, () => name)
    server.registerResource(`t-${name}`, new ResourceTemplate(`note://${name}/{id}`, {}), {}, () => name)
  }
  return server
}
