import type { Context } from 'tenon/server'
import * as z from 'zod'

export const nameForm = z.object({ name: z.string() })
export const hello = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }],
  maxTokens: 10,
}
export const sampled = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } }

/** Accepts every form with its message as the name. */
export const echoing = { elicit: ({ message }: { message: string }) => accepted({ name: message }) }
export const accepted = (content: Record<string, string>) => ({ action: 'accept' as const, content })

/** Asks for a name once per key. */
export async function namesFor(ctx: Context, ...keys: string[]): Promise<string> {
  const names: string[] = []
  for (const key of keys) {
    const answer = await ctx.elicit(`${key}?`, nameForm, { key })
    names.push(answer.action === 'accept' ? answer.content.name : answer.action)
  }
  return names.join()
}
