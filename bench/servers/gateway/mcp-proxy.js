import { runPackage } from './run-package.js'
import { stdioServer } from './stdio-server.js'

// Without the event store, which the other gateways do not have by default either.
await runPackage('mcp-proxy/dist/bin/mcp-proxy.mjs', (port) => [
  ...['--host', '127.0.0.1', '--port', String(port), '--server', 'stream', '--no-eventStore'],
  ...['--', stdioServer.command, ...stdioServer.args],
])
