import { expect as jestExpect } from 'expect'
import { connect } from 'tenon/client'
import { McpServer, ToolError } from 'tenon/server'
import { record, Transcript, wires } from 'tenon/testing'
import { matchers as jestMatchers } from 'tenon/testing/jest'
import { matchers, type TenonMatchers } from 'tenon/testing/vitest'
import { describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'

expect.extend(matchers)
jestExpect.extend(jestMatchers)

declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T> extends TenonMatchers<R> {}
}

const server = new McpServer({ name: 'shop', version: '1.0.0' })
const price = { amount: z.number(), currency: z.string() }
server.registerTool('price', { inputSchema: { id: z.string() }, outputSchema: price }, ({ id }) => {
  if (id === '') throw new ToolError('No such item')
  return { amount: 3, currency: 'EUR' }
})
server.registerTool('order', {}, async (_, ctx) => {
  ctx.log.info('ordering')
  ctx.progress(1, { total: 2, message: 'half' })
  const { action } = await ctx.elicit('Order it?', z.object({ count: z.number() }))
  return action
})
server.registerPrompt('greet', {}, () => 'Hello')
server.registerResource('note', 'note://a', {}, () => 'A note')

/** The assertions of one test runner. */
type Assertions = TenonMatchers & { not: TenonMatchers }

const runners: [string, (received: unknown) => Assertions][] = [
  ['vitest', (received) => expect(received)],
  ['Jest', (received) => jestExpect(received)],
]

describe.each(runners)('matchers in %s', (_, assertThat) => {
  const failureOf = (check: () => void): string => {
    try {
      check()
    } catch (error) {
      // Without colors, which depend on the terminal.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colors are.
      return (error as Error).message.replaceAll(/\u001b\[\d+m/g, '')
    }
    return 'passed'
  }

  it('compare the text of tools, prompts and resources', async () => {
    await using client = await connect(server)
    const result = await client.callTool('price', { id: 'a' })
    assertThat(await client.getPrompt('greet')).toHaveText('Hello')
    assertThat(await client.readResource('note://a')).toHaveText(/^A/)
    assertThat(result).not.toHaveText('4')
    assertThat(result).toHaveText(/"amount":\s*3/)
    expect(failureOf(() => assertThat(result).toHaveText('4'))).toMatch(
      /toHaveText[\s\S]*Expected: the text "4"\nReceived: the text ".*amount/,
    )
    expect(failureOf(() => assertThat(result).not.toHaveText(/amount/))).toContain('Expected: not the text /amount/')
  })

  it('tell tool errors from results', async () => {
    await using client = await connect(server)
    const failed = await client.callTool('price', { id: '' })
    const fine = await client.callTool('price', { id: 'a' })
    assertThat(failed).toBeToolError()
    assertThat(failed).toBeToolError('No such item')
    assertThat(failed).toBeToolError(/such/)
    assertThat(failed).not.toBeToolError('Another text')
    assertThat(fine).not.toBeToolError()
    expect(failureOf(() => assertThat(fine).toBeToolError('x'))).toContain(
      'Expected: a result with isError with the text "x"\nReceived: a result without isError and the text',
    )
  })

  it('compare structured content, with asymmetric matchers', async () => {
    await using client = await connect(server)
    const result = await client.callTool('price', { id: 'a' })
    assertThat(result).toHaveStructuredContent()
    assertThat(result).toHaveStructuredContent({ amount: 3, currency: 'EUR' })
    assertThat(result).toHaveStructuredContent({ amount: expect.any(Number), currency: 'EUR' })
    assertThat(result).not.toHaveStructuredContent({ amount: 3 })
    const failed = await client.callTool('price', { id: '' })
    expect(failureOf(() => assertThat(failed).toHaveStructuredContent())).toContain(
      'Received: a result with isError and the text "No such item"',
    )
  })

  it('check structured content against a schema, or that of a listed tool', async () => {
    await using client = await connect(server)
    const { tools } = await client.listTools()
    const tool = tools.find(({ name }) => name === 'price')!
    const result = await client.callTool('price', { id: 'a' })
    assertThat(result).toMatchOutputSchema(tool)
    assertThat(result).toMatchOutputSchema(price)
    assertThat(result).toMatchOutputSchema({ type: 'object', required: ['amount'] })
    assertThat(result).not.toMatchOutputSchema(z.object({ amount: z.string() }))
    const wrong = { content: [], structuredContent: { amount: 'three', currency: 'EUR' } }
    expect(failureOf(() => assertThat(wrong).toMatchOutputSchema(tool))).toMatch(
      /matches the output schema of "price"\nReceived: amount: /,
    )
    const order = tools.find(({ name }) => name === 'order')!
    expect(failureOf(() => assertThat(result).toMatchOutputSchema(order))).toBe(
      'The tool "order" has no output schema. Set outputSchema in registerTool.',
    )
    const later = z.object({ amount: z.number().refine(async (amount) => amount > 5, 'too cheap') })
    await expect(assertThat(result).toMatchOutputSchema(later)).rejects.toThrow('amount: too cheap')
  })

  it('reject values that are not results, also with .not', () => {
    expect(failureOf(() => assertThat(Promise.resolve()).not.toBeToolError())).toBe(
      'toBeToolError takes the result of callTool, but received a promise. It is a promise: write "await" in front of the call, or use ".resolves".',
    )
    expect(failureOf(() => assertThat('text').not.toHaveText('x'))).toContain('but received "text".')
    expect(failureOf(() => assertThat({}).toHaveAsked())).toContain('toHaveAsked takes a Transcript, or')
  })

  for (const wire of wires({ revisions: ['2025-11-25', '2026-07-28'], transports: ['memory'] })) {
    it(`find questions, logs and progress in a transcript (${wire.name})`, async () => {
      const elicit = () => ({ action: 'accept', content: { count: 2 } }) as const
      await using pair = await wire.connect(server, { handlers: { elicit }, logLevel: 'info' })
      if (wire.revision.era === 'handshake') await pair.client.setLoggingLevel('info')
      await pair.client.callTool('order', {}, { onProgress: () => {} })
      assertThat(pair).toHaveAsked()
      assertThat(pair.transcript).toHaveAsked('Order it?')
      assertThat(pair.transcript).toHaveAsked({ method: 'elicitation/create' })
      assertThat(pair.transcript).toHaveAsked({ params: expect.objectContaining({ message: 'Order it?' }) })
      assertThat(pair.transcript).not.toHaveAsked({ method: 'sampling/createMessage' })
      assertThat(pair.transcript).toHaveLogged('ordering')
      assertThat(pair.transcript).toHaveLogged({ level: 'info' })
      assertThat(pair.transcript).toHaveProgressed('half')
      assertThat(pair.transcript).toHaveProgressed({ progress: 1, total: 2 })
      expect(failureOf(() => assertThat(pair).toHaveAsked('Order them?'))).toContain(
        'Expected: a question with the text "Order them?"\nReceived: 1 question:\n  elicitation/create "Order it?"',
      )
      expect(failureOf(() => assertThat(pair).not.toHaveLogged())).toContain('Expected: not a log message\nReceived: ')
      expect(failureOf(() => assertThat(new Transcript()).toHaveProgressed())).toContain(
        'Received: no progress notification',
      )
    })
  }
})

it('the matchers have types in vitest, Jest and the package "expect"', () => {
  expectTypeOf(expect('').toHaveText).parameter(0).toEqualTypeOf<string | RegExp>()
  expectTypeOf(jestExpect('').toHaveText).parameter(0).toEqualTypeOf<string | RegExp>()
  expectTypeOf<jest.Matchers<Promise<void>>['toHaveAsked']>().returns.toEqualTypeOf<Promise<void>>()
  expectTypeOf(record).returns.toEqualTypeOf<Transcript>()
})
