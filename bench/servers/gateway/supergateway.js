import { runPackage } from './run-package.js'
import { stdioServer } from './stdio-server.js'

// Without `--stateful`, every call would start a process. Its default log writes two lines for every call.
await runPackage('supergateway/dist/index.js', (port) => [
  ...['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none', '--port', String(port)],
  ...['--stdio', [stdioServer.command, ...stdioServer.args].map((word) => `"${word}"`).join(' ')],
])
