import { expect, it } from 'vitest'
import type { HostTool } from '../catalog.ts'
import { CallerTaints } from './caller-taints.ts'
import { Places } from './places.ts'
import { isSearchTool, runToolSearch } from './tool-search.ts'

it('has places for callers until none is free, also for those without an account [HOST-022]', () => {
  const places = new Places(3)
  const leave = [places.take(undefined), places.take(undefined), places.take(undefined)]
  expect(() => places.take(undefined)).toThrow('The gateway serves 3 callers (maxCallers)')
  expect(() => places.check({ name: 'a', isAddress: false })).toThrow('The gateway serves 3 callers')
  leave[0]?.()
  places.check(undefined)
})

it('gives one user or address three quarters of the places at most [HOST-022]', () => {
  const places = new Places(8)
  const ada = { name: 'ada', isAddress: false }
  const leave = [1, 2, 3, 4, 5, 6].map(() => places.take(ada))
  expect(() => places.take(ada)).toThrow('This user has 6 of the 8 places for callers (maxCallers)')
  const address = { name: 'ada', isAddress: true }
  places.take(address)
  for (const each of leave) each()
  for (let count = 0; count < 5; count++) places.take(address)
  expect(() => places.take(address)).toThrow('This address has 6 of the 8 places for callers (maxCallers)')
})

const user = (principal: string) => ({ link: { transport: {} }, stream: { request: { principal } } }) as never
const ids = () => ['files', 'mail', 'web']

it('remembers what a user has read, whatever the connection [HOST-031]', () => {
  const taints = new CallerTaints({ ids, isOneOfSeveral: false })
  taints.of(user('ada')).add('files')
  taints.of(user('ada')).add('mail')
  expect(taints.of(user('ada')).for('mail')).toEqual(['files'])
  expect(taints.of(user('ada')).for('web')).toEqual(['files', 'mail'])
  expect(taints.of(user('bob')).for('web')).toEqual([])
  const session = { link: { transport: { sessionId: 's1' } }, stream: undefined } as never
  taints.of(session).add('web')
  expect(taints.of(session).for('mail')).toEqual(['web'])
  taints.left({ transport: { sessionId: 's1' } } as never)
  expect(taints.of(session).for('mail')).toEqual([])
})

it('takes callers that it cannot know for ones that have read everything [HOST-031]', () => {
  const anonymous = { link: { transport: {} }, stream: { request: {} } } as never
  expect(new CallerTaints({ ids, isOneOfSeveral: false }).of(anonymous).for('mail')).toEqual(['files', 'web'])
  expect(new CallerTaints({ ids, isOneOfSeveral: true }).of(user('ada')).for('mail')).toEqual(['files', 'web'])
})

it('takes every unknown caller for one that has read everything, once it had to forget some [HOST-031]', () => {
  const taints = new CallerTaints({ ids, isOneOfSeveral: false })
  taints.of(user('first')).add('files')
  for (let count = 1; count < 10_000; count++) taints.of(user(`u${count}`)).add('mail')
  // Used again, so the next one is the oldest.
  taints.of(user('first')).add('files')
  expect(taints.of(user('nobody')).for('web')).toEqual([])
  taints.of(user('last')).add('mail')
  expect(taints.of(user('first')).for('web')).toEqual(['files'])
  expect(taints.of(user('u1')).for('web')).toEqual(['files', 'mail'])
  expect(taints.of(user('u2')).for('web')).toEqual(['mail'])
})

it('searches tools by words, 10 by default and 50 at most, and reads the call of one', () => {
  const tools = Array.from(
    { length: 60 },
    (_, at) =>
      ({ name: `files_read${at}`, description: 'Reads', inputSchema: { type: 'object' } }) as unknown as HostTool,
  )
  const search = (args: Record<string, unknown>) => {
    const outcome = runToolSearch(tools, 'search_tools', args)
    return 'result' in outcome ? (outcome.result.structuredContent as { tools: unknown[] }).tools : []
  }
  expect(search({ query: 'reads' })).toHaveLength(10)
  expect(search({ query: 'reads', limit: 'x' })).toHaveLength(10)
  expect(search({ query: 'reads', limit: 100 })).toHaveLength(50)
  expect(search({ query: 'reads', limit: 2.9 })).toHaveLength(2)
  expect(search({ query: 'reads', limit: -5 })).toHaveLength(1)
  expect(search({ query: 'reads', limit: 1 })[0]).toEqual({
    name: 'files_read0',
    description: 'Reads',
    inputSchema: { type: 'object' },
  })
  const call = (args: Record<string, unknown>) => runToolSearch(tools, 'call_tool', args)
  expect(call({ name: 'a', arguments: { b: 1 } })).toEqual({ call: { name: 'a', arguments: { b: 1 } } })
  expect(call({ name: 'a' })).toEqual({ call: { name: 'a', arguments: {} } })
  expect(() => search({})).toThrow('search_tools: query must be a string')
  expect(() => call({})).toThrow('call_tool: name must be a string')
  expect(() => call({ name: 'a', arguments: [] })).toThrow('call_tool: arguments must be an object')
  expect(['search_tools', 'call_tool', 'other'].map(isSearchTool)).toEqual([true, true, false])
})
