import type { ElicitSchema } from 'tenon'
import type { ElicitFormRequest } from 'tenon/client'
import { type Context, McpServer } from 'tenon/server'
import type { Transcript } from 'tenon/testing'
import { answersIn, questionsIn } from './wire.ts'

/** The params of an elicitation, sent as a request or in a result depending on the revision. */
export interface AskedParams {
  mode?: string
  message?: string
  url?: string
  elicitationId?: string
  requestedSchema?: ElicitSchema
}

export interface AnswerSaid {
  action?: string
  content?: Record<string, unknown>
}

/** Returns every elicitation that the server sent, as a request or in a result. */
export function asked(transcript: Transcript): AskedParams[] {
  return questionsIn(transcript, 'elicitation/create') as AskedParams[]
}

/** Returns every answer to an elicitation that the client sent, as a result or in the next call. */
export function answers(transcript: Transcript): AnswerSaid[] {
  return (answersIn(transcript) as AnswerSaid[]).filter((answer) => 'action' in answer)
}

/** Creates a server with one tool, `ask`. */
export function asking(handler: (ctx: Context) => unknown, options?: ConstructorParameters<typeof McpServer>[1]) {
  const server = new McpServer({ name: 'asker', version: '1.0.0' }, options)
  server.registerTool('ask', {}, async (_args, ctx) => {
    const value = await handler(ctx)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
  return server
}

/** Creates handlers that answer every form with the same content, and records the forms. */
export function filling(content: Record<string, string | number | boolean | string[]>) {
  const forms: ElicitFormRequest[] = []
  const elicit = (form: ElicitFormRequest) => {
    forms.push(form)
    return { action: 'accept' as const, content }
  }
  return { forms, handlers: { elicit } }
}
