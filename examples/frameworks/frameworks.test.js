import { startServer } from '../../test/interop/support/http.js'
import { testExample } from '../support/checks.js'

// Each example as it is, in a process of its own. Express and Fastify have parsed the body before they hand the request on.
for (const name of ['express', 'fastify', 'hono', 'node-http']) {
  testExample(name, `${name}-example`, () => startServer(`../../examples/frameworks/${name}.js`))
}
