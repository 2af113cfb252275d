import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { GuardError } from '../../src/net/address-policy.ts'
import type { GuardedFetchOptions } from '../../src/net/guarded-fetch.ts'

export const local: GuardedFetchOptions = { allowLoopback: 'http' }

/** Returns the error of a request that must fail. */
export async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => expect.fail('nothing was refused'),
    (error: Error) => error,
  )
}

export async function refusal(work: Promise<unknown>): Promise<GuardError> {
  const error = await failure(work)
  expect(error).toBeInstanceOf(GuardError)
  return error as GuardError
}

export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Starts a site on this machine that records its requests. */
export async function site(handler: RequestListener) {
  const seen: { request: IncomingMessage; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ request, body })
    handler(request, response)
  })
  let connections = 0
  server.on('connection', () => connections++)
  const port = await listen(server)
  onTestFinished(() => server.closeAllConnections())
  return { origin: `http://127.0.0.1:${port}`, port, seen, connections: () => connections }
}

export const json: RequestListener = (_, response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
