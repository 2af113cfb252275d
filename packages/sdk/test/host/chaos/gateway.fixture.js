// A gateway in a process of its own.
//
//   node gateway.fixture.js '{ "servers": { ... }, "redis": "redis://..." }'
import { createGateway, createHost } from 'tenon/host'
import { serveHttp } from 'tenon/server'
import { redisStore } from 'tenon/stores/redis'
import { tasks } from 'tenon/tasks'
import { endWithParent } from '../../kit/end-with-parent.js'

endWithParent()
const { servers, redis, port = 0, stateKey } = JSON.parse(process.argv[2])
const store = redis && redisStore({ url: redis, prefix: 'chaos' })
const shared = store && { sessionStore: store.sessions, eventStore: store.events, bus: store.bus }
const policy = [{ kind: ['connect', 'definitions'], decide: 'allow' }, { decide: 'allow' }]
const host = await createHost({ servers, policy })
const gateway = createGateway(host, {
  server: { stateKey, onError: (error) => process.stderr.write(`${error?.stack ?? error}\n`) },
  ...(store && { bus: store.bus, tasks: tasks({ store: store.tasks }) }),
})
const { url } = await serveHttp(gateway, { port, healthPath: '/healthz', shutdownDelayMs: 200, ...shared })
process.on('message', () => {
  globalThis.gc()
  process.send(process.memoryUsage().heapUsed)
})
process.stdout.write(`ready ${url}\n`)
