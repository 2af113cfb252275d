import { type McpError, ProtocolError, type RevisionId } from 'tenon'
import type { ClientOptions } from 'tenon/client'
import type { Transcript } from 'tenon/testing'
import { clientOf, scriptedServer } from '../../transport/stdio/support.ts'

export const modern: RevisionId = '2026-07-28'

type Body = Record<string, unknown>

interface Said {
  id?: unknown
  method?: string
  params?: Body
  result?: Body
  error?: { code: number; message: string }
}

interface Question {
  method: string
  params?: Body
}

/** Returns the params of every question with the given method, sent as a request or as a part of a result. */
export function questionsIn(transcript: Transcript, method: string): Body[] {
  return (transcript.from('server') as Said[]).flatMap((message) => {
    const embedded = Object.values((message.result?.inputRequests ?? {}) as Record<string, Question>)
    return [message as Question, ...embedded].filter((each) => each.method === method).map(({ params = {} }) => params)
  })
}

/** Returns every answer of the client to a question, sent as a result or as a part of its next request. */
export function answersIn(transcript: Transcript): Body[] {
  return (transcript.from('client') as Said[]).flatMap(({ params, result }) =>
    result ? [result] : Object.values((params?.inputResponses ?? {}) as Record<string, Body>),
  )
}

/** Returns the capabilities that the client declared in the handshake or in the `_meta` of each request. */
export function declaredIn(transcript: Transcript): Body[] {
  return (transcript.from('client') as Said[]).flatMap(({ id, method, params }) => {
    if (id === undefined || method === undefined) return []
    if (method === 'initialize') return [params!.capabilities as Body]
    const meta = params?._meta as Body | undefined
    const declared = meta?.['io.modelcontextprotocol/clientCapabilities']
    return declared === undefined ? [] : [declared as Body]
  })
}

export interface Reaction {
  /** The answer that the server received. */
  result?: Body | undefined
  /** The error that the server received on handshake revisions, or the caller of the tool on 2026-07-28. */
  error?: { code: number | undefined; message: string; thrown?: unknown } | undefined
  /** The number of tool calls. */
  calls: number
}

/** Sends a question to a client, including questions that the server API would reject. */
export async function putTo(revision: RevisionId, question: Question, options: ClientOptions): Promise<Reaction> {
  return revision === modern ? putAsInput(question, options) : putAsRequest(revision, question, options)
}

async function putAsRequest(revision: RevisionId, question: Question, options: ClientOptions): Promise<Reaction> {
  const server = scriptedServer(revision)
  await using _client = await clientOf(server, revision, options)
  const answer = new Promise<Said>((resolve) => {
    server.transcript.onLine(({ from, message }) => {
      if (from === 'client' && (message as Said).id === 'question') resolve(message as Said)
    })
  })
  server.say({ jsonrpc: '2.0', id: 'question', ...question })
  const { result, error } = await answer
  return { result, error, calls: 0 }
}

async function putAsInput(question: Question, options: ClientOptions): Promise<Reaction> {
  let result: Body | undefined
  let calls = 0
  const server = scriptedServer(modern, {
    'tools/call': ({ inputResponses }) => {
      calls++
      result = (inputResponses as Record<string, Body> | undefined)?.question
      if (!result) return { result: { resultType: 'input_required', inputRequests: { question } } }
      return { result: { resultType: 'complete', content: [] } }
    },
  })
  await using client = await clientOf(server, modern, options)
  try {
    await client.callTool('ask')
    return { result, calls }
  } catch (thrown) {
    const code = thrown instanceof ProtocolError ? thrown.rpcCode : undefined
    return { error: { code, message: (thrown as McpError).message, thrown }, calls }
  }
}
