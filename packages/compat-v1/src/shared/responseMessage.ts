import type { Result, Task } from '../types.ts'
import type { McpError } from './errors.ts'

/** A message of the stream that a request as a task returns. */
export interface BaseResponseMessage {
  type: string
}

/** The status of the task changed. */
export interface TaskStatusMessage extends BaseResponseMessage {
  type: 'taskStatus'
  task: Task
}

/** The request became a task. */
export interface TaskCreatedMessage extends BaseResponseMessage {
  type: 'taskCreated'
  task: Task
}

/** The result. It is the last message. */
export interface ResultMessage<T extends Result> extends BaseResponseMessage {
  type: 'result'
  result: T
}

/** The request failed. It is the last message. */
export interface ErrorMessage extends BaseResponseMessage {
  type: 'error'
  error: McpError
}

/** Any message of the stream that a request as a task returns. */
export type ResponseMessage<T extends Result> = TaskStatusMessage | TaskCreatedMessage | ResultMessage<T> | ErrorMessage

/** The type of the values that a generator yields. */
export type AsyncGeneratorValue<T> = T extends AsyncGenerator<infer U> ? U : never

/** Collects everything that a generator yields. */
export async function toArrayAsync<T extends AsyncGenerator<unknown>>(it: T): Promise<AsyncGeneratorValue<T>[]> {
  const values: AsyncGeneratorValue<T>[] = []
  for await (const value of it) values.push(value as AsyncGeneratorValue<T>)
  return values
}

/** Waits for the result of a stream. Throws its error. */
export async function takeResult<T extends Result, U extends AsyncGenerator<ResponseMessage<T>>>(it: U): Promise<T> {
  for await (const message of it) {
    if (message.type === 'result') return message.result
    if (message.type === 'error') throw message.error
  }
  throw new Error('No result in stream.')
}
