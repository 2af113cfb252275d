import { setTimeout as sleep } from 'node:timers/promises'
import { StdioServerTransport } from 'tenon/server'
import type { DevServer } from './dev-server.ts'

/** Serves the client that started this process. Resolves when it has disconnected. */
export async function serveStdioClient(server: DevServer): Promise<void> {
  const transport = new StdioServerTransport()
  const session = server.open((message) => transport.sendText(JSON.stringify(message)))
  transport.onmessage = (message) => session.receive(message)
  transport.onfault = ({ code, message, id = null }) => {
    server.log.warn(`stdin: ${message}`)
    transport.send({ jsonrpc: '2.0', id, error: { code, message } })
  }
  const ended = new Promise<void>((resolve) => {
    transport.onend = resolve
    transport.onclose = () => resolve()
  })
  await transport.start()
  await ended
  // A script may close stdin right after its last request.
  await Promise.race([session.allAnswered(), sleep(lastAnswersMs)])
  await server.end(session)
  await transport.close()
}

/** Hosts do not wait that long: they send SIGTERM about two seconds after they close stdin. */
const lastAnswersMs = 10_000
