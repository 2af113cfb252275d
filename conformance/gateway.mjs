// A gateway to the server that the conformance suite tests: node conformance/gateway.mjs --server URL [--port N], default 3002.
import { parseArgs } from 'node:util'
import { createGateway, createHost } from 'tenon/host'
import { serveHttp } from 'tenon/server'
import { tasks } from 'tenon/tasks'

const { values: options } = parseArgs({
  options: { server: { type: 'string' }, port: { type: 'string', default: '3002' } },
})
const host = await createHost({
  // The scenarios use the names of the server.
  servers: { fixture: { url: options.server, prefix: false } },
  policy: [{ kind: ['connect', 'definitions'], decide: 'allow' }, { decide: 'allow' }],
})
const { url } = await serveHttp(createGateway(host, { tasks: tasks() }), { port: Number(options.port) })
console.log(`listening on ${url}`)
