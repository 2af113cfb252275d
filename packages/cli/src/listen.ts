import type { Server } from 'node:http'
import { CliError, exitCodes } from './exit-codes.ts'

/** Where to listen. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Starts listening. Rejects with an error that names the port. */
export function listen(http: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', (cause: NodeJS.ErrnoException) => {
      const hint = 'Choose another port with --port, or 0 for a free one.'
      const message = `Cannot listen: ${reasonOf(cause, host, port)}.`
      reject(new CliError('listen-failed', message, { hint, exitCode: exitCodes.connection, cause }))
    })
    http.listen(port, host, resolve)
  })
}

/** Whether only programs on this machine can reach a host: its name or address, in URLs with brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

function reasonOf({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  if (code === 'EADDRINUSE') return `port ${port} is in use`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is not an address of this machine`
  return code === 'EACCES' ? `no permission for port ${port}` : message
}
