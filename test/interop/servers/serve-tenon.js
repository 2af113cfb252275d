import { parseArgs } from 'node:util'
import { serveHttp, serveStdio } from 'tenon/server'

/** Serves over stdio, or as the command line says: `--http sessions`, `--http stateless` or `--http sse`. */
export async function serve(server) {
  const { http } = parseArgs({ strict: false, options: { http: { type: 'string' } } }).values
  if (http) await serveHttp(server, { sessions: http !== 'stateless', sse: http === 'sse' })
  else await serveStdio(server)
}
