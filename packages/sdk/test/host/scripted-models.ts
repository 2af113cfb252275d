import type { ModelRequest } from '../../src/host/models/model.ts'
import type { CreateMessageParams } from '../../src/protocol/sampling.ts'

/** A call that a scripted function received. */
export interface ScriptedCall {
  // biome-ignore lint/suspicious/noExplicitAny: tests look at parts of requests whose shape each SDK defines.
  readonly body: any
  readonly signal: AbortSignal | null | undefined
}

/** A function that records its calls and returns, or throws, one answer after the other. */
export function scripted(...answers: unknown[]) {
  const calls: ScriptedCall[] = []
  const create = async (body: unknown, options?: { signal?: AbortSignal | null | undefined }): Promise<unknown> => {
    // The adapter may go on with its list of messages, so a copy is kept.
    calls.push({ body: structuredClone(withoutFunctions(body)), signal: options?.signal })
    const answer = answers[Math.min(calls.length, answers.length) - 1]
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer(body) : answer
  }
  return { calls, create }
}

/** A request for a message. */
export function request(params: Partial<CreateMessageParams> = {}, signal?: AbortSignal): ModelRequest {
  return {
    model: 'large-1',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }], maxTokens: 100, ...params },
    signal: signal ?? new AbortController().signal,
  }
}

/** An error as the SDKs throw it: with the status, and with headers that hold the key. */
export function apiError(status: number, message: string): Error {
  return Object.assign(new Error(message), { status, headers: { authorization: `Bearer ${key}` }, requestKey: key })
}

export const key = 'sk-live-0123456789abcdefghij'

function withoutFunctions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutFunctions)
  if (typeof value === 'function' || value instanceof AbortSignal) return undefined
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutFunctions(each)]))
}
