import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpError } from 'tenon'
import type { Inspector } from './inspector.ts'

/** An inspector that is served. */
export interface ServedInspector {
  /** The address of the page, with the secret. */
  readonly url: string
  /** Stops serving. */
  close(): Promise<void>
}

/** Serves an inspector on 127.0.0.1. */
export async function listen(inspector: Inspector, port: number): Promise<ServedInspector> {
  const http = createServer({ requestTimeout: 60_000 }, (request, response) => {
    if (inspector.handle(request, response)) return
    response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found')
  })
  await new Promise<void>((resolve, reject) => {
    http.once('error', (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === 'EADDRINUSE' ? `port ${port} is in use. Choose another with --port` : cause.message
      reject(new McpError('listen-failed', `Cannot listen: ${reason}`, { cause }))
    })
    http.listen(port, '127.0.0.1', resolve)
  })
  const { port: actual } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${actual}${inspector.path}`,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      }),
  }
}
