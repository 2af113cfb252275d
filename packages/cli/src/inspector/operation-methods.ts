import { type CompleteParams, type LoggingLevel, loggingLevels, McpError } from 'tenon'
import type { Client, RequestOptions } from 'tenon/client'
import { isObject, type JsonObject } from 'tenon/internal'
import { usageError } from '../exit-codes.ts'
import type { InspectedServer, OpenConnection } from './inspected-server.ts'
import { listNames } from './lists.ts'
import type { OperationEnded, OperationRequest } from './protocol.ts'

/** How an operation ended that did not fail. */
export type Outcome = Pick<OperationEnded, 'result' | 'output'>

/** A running operation. */
export interface RunningOperation {
  readonly server: InspectedServer
  readonly connection: OpenConnection
  readonly operation: string
  readonly request: OperationRequest
  /** Aborts when the user cancels it. */
  readonly signal: AbortSignal
}

/** Sends the requests of an operation, and returns the result. */
export async function runMethod(running: RunningOperation): Promise<Outcome> {
  const { method, params = {} } = running.request
  if (method === 'tools/call') return callTool(running)
  const run = methods[method]
  const options = optionsOf(running)
  const { client } = running.connection
  const result = run ? await run({ client, params, options, running }) : await client.request(method, params, options)
  return { result: result ?? {} }
}

interface MethodCall {
  readonly client: Client
  readonly params: JsonObject
  readonly options: RequestOptions
  readonly running: RunningOperation
}

/** Methods for which the client does more than to send one request. */
const methods: Readonly<Record<string, (call: MethodCall) => Promise<unknown>>> = {
  list: ({ client, params, running }) => readList(client, params, running),
  ping: ({ client, options }) => client.ping(options),
  'resources/read': ({ client, params, options }) => client.readResource({ uri: textParam(params, 'uri') }, options),
  'resources/subscribe': ({ client, params }) => client.subscribeResource(textParam(params, 'uri')),
  'resources/unsubscribe': ({ client, params }) => client.unsubscribeResource(textParam(params, 'uri')),
  'prompts/get': ({ client, params, options }) =>
    client.getPrompt({ ...params, name: textParam(params, 'name') }, options),
  'completion/complete': async ({ client, params, options }) => ({
    // The server checks the params.
    completion: await client.complete(params as unknown as CompleteParams, options),
  }),
  'logging/setLevel': ({ client, params, options }) => client.setLoggingLevel(levelParam(params), options),
  'tasks/get': ({ client, params }) => stateOfTask(client, params),
  'tasks/result': ({ client, params, running }) => followTask(client, params, running),
  'tasks/cancel': ({ client, params }) => client.resumeTask(textParam(params, 'taskId')).cancel(),
  'tasks/list': async ({ client, options }) => ({ tasks: await client.listTasks(undefined, options).all() }),
}

function optionsOf({ server, operation, signal }: RunningOperation): RequestOptions {
  return {
    signal,
    onProgress: ({ progress, total, message }) => {
      const more = {
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message: shorten(message) }),
      }
      server.facts.add({ kind: 'progress', operation, progress, ...more })
    },
  }
}

async function callTool(running: RunningOperation): Promise<Outcome> {
  const { server, connection, operation, request } = running
  const { params = {}, asTask } = request
  const name = textParam(params, 'name')
  try {
    const result = asTask ? await callAsTask(running, name) : await callDirectly(running, name)
    const isChecked = result.structuredContent !== undefined && !result.isError && server.lists.hasOutputSchema(name)
    return { result, ...(isChecked && { output: { isValid: true } }) }
  } catch (error) {
    if (!(error instanceof McpError) || error.code !== 'invalid-output') throw error
    const result = resultIn(connection.recorder.takeResult(operation))
    return { result, output: { isValid: false, problem: error.message } }
  }
}

function callDirectly(running: RunningOperation, name: string) {
  const { params = {} } = running.request
  const args = isObject(params.arguments) ? { arguments: { ...params.arguments } } : {}
  return running.connection.client.callTool({ ...params, name, ...args }, optionsOf(running))
}

async function callAsTask(running: RunningOperation, name: string) {
  const { params = {} } = running.request
  const args = isObject(params.arguments) ? { ...params.arguments } : {}
  const { signal } = running
  const task = await running.connection.client.callToolAsTask(name, args, optionsOf(running))
  // The signal applies to the creation of the task only. Whether it could be cancelled is seen in its state.
  const cancel = () => void task.cancel().catch(() => {})
  signal.addEventListener('abort', cancel)
  if (signal.aborted) cancel()
  try {
    return await task.result()
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** The client knows how to ask for a task on each revision. */
async function stateOfTask(client: Client, params: JsonObject): Promise<unknown> {
  const taskId = textParam(params, 'taskId')
  for await (const state of client.resumeTask(taskId)) return { taskId, ...state }
  return undefined
}

/** Waits for a task that was created earlier. Cancelling the operation leaves the task alone. */
async function followTask(client: Client, params: JsonObject, { signal }: RunningOperation): Promise<unknown> {
  const stopped = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  return Promise.race([client.resumeTask(textParam(params, 'taskId')).result(), stopped])
}

async function readList(client: Client, params: JsonObject, { server }: RunningOperation): Promise<unknown> {
  const list = listNames.find((name) => name === params.list)
  if (!list) throw usageError(`"list" must be one of ${listNames.join(', ')}.`)
  return { total: await server.lists.read(client, list) }
}

/** The result of a tool on the wire: that of the call, or the one inside of a task. */
function resultIn(sent: unknown): unknown {
  return isObject(sent) && typeof sent.taskId === 'string' && isObject(sent.result) ? sent.result : sent
}

function textParam(params: JsonObject, name: string): string {
  const value = params[name]
  if (typeof value === 'string') return value
  throw usageError(`"${name}" must be a text.`)
}

function levelParam(params: JsonObject): LoggingLevel {
  const level = loggingLevels.find((known) => known === params.level)
  if (level) return level
  throw usageError(`"level" must be one of ${loggingLevels.join(', ')}.`)
}

const maxChars = 10_000

function shorten(text: string): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}…`
}
