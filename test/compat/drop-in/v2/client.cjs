const { Client } = require('@modelcontextprotocol/client')
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio')

async function main() {
  const client = new Client({ name: 'cashier', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.js'] }))
  const { content } = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
  console.log(`add: ${content[0].text}`)
  await client.close()
}
main()
