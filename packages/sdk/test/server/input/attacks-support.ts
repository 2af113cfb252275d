import type { McpServerOptions } from 'tenon/server'
import { expect } from 'vitest'
import * as z from 'zod'
import { accept, type Message, serverOf } from './round-trips-support.ts'

export const nameForm = z.object({ name: z.string() })
export const anything = z.record(z.string(), z.unknown())
export const yes = { sure: accept({ name: 'yes' }) }

/** Creates a server whose tool pays once, and only after the user agreed. */
export function bank(options: McpServerOptions = {}, name = 'bank') {
  const server = serverOf(options, name)
  const paid: string[] = []
  for (const tool of ['pay', 'refund']) {
    server.registerTool(tool, { inputSchema: anything }, async (args, ctx) => {
      await ctx.once('account', () => `secret-account-number ${args.text}`)
      const { action } = await ctx.elicit(`${tool}?`, nameForm, { key: 'sure' })
      if (action === 'accept') paid.push(`${tool} ${JSON.stringify(args)}`)
      return `${tool}: ${action}`
    })
  }
  server.registerPrompt('pay', {}, async (_args, ctx) => (await ctx.elicit('Sure?', nameForm, { key: 'sure' })).action)
  return { server, paid }
}

export function expectRefused({ error, result }: Message, what?: string): void {
  expect(result, what).toBeUndefined()
  expect(error?.code, what).toBe(-32602)
  expect(error?.message, what).toContain('requestState')
}
