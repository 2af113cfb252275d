// A gateway to the server that the conformance suite tests: node conformance/gateway.mjs --server URL [--port N] [--always-tasks], default 3002.
import { parseArgs } from 'node:util'
import { createGateway, createHost } from 'tenon/host'
import { serveHttp } from 'tenon/server'
import { tasks } from 'tenon/tasks'

const { values: options } = parseArgs({
  options: {
    server: { type: 'string' },
    port: { type: 'string', default: '3002' },
    'always-tasks': { type: 'boolean', default: false },
  },
})
const host = await createHost({
  // The scenarios use the names of the server.
  servers: { fixture: { url: options.server, prefix: false } },
  policy: [{ kind: ['connect', 'definitions'], decide: 'allow' }, { decide: 'allow' }],
})
const gateway = createGateway(host, { tasks: tasks(options['always-tasks'] ? { policy: 'always' } : {}) })
const { url } = await serveHttp(gateway, { port: Number(options.port) })
console.log(`listening on ${url}`)
