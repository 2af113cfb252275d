import type { AuthInfo, TokenVerifier } from 'tenon/auth/server'
import { workshop } from '../kit/workshop.ts'

/** Creates a workshop server that records which of its tools ran. */
export function watched() {
  const ran: unknown[] = []
  const server = workshop()
  server.use((request, next) => {
    if (request.method === 'tools/call') ran.push(request.params.name)
    return next()
  })
  return { server, ran }
}

/** Accepts tokens of the form `subject+scope+scope`. */
export const verify: TokenVerifier = async (token): Promise<AuthInfo> => {
  const [subject, ...scopes] = token.split('+')
  return { clientId: 'app', scopes, subject }
}

export const auth = { verify, authorizationServers: ['https://as.example'] }

export const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

export const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'echo', arguments: { text: 'hello' } },
}

export const plain = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
