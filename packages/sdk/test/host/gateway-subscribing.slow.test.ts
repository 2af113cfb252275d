import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { serveGateway } from './gateway-support.ts'
import { fixture } from './process-support.ts'

describe('a subscription that its server never answers', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)(
    'is an error after a while (caller of %s) [HOST-024]',
    async (revision) => {
      await using gateway = await serveGateway({ notes: { command: process.execPath, args: [fixture('notes.mjs')] } })
      await using client = await connect(gateway.url, { revision })
      await expect(client.subscribeResource('notes://slow')).rejects.toThrow('Not subscribed within 20000 ms')
      // What the caller asks next is not affected.
      await client.subscribeResource('notes://today')
    },
  )
})
