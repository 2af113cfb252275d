import { connect } from 'tenon/client'
import { matchers } from 'tenon/testing/vitest'
import { expect, it } from 'vitest'
import { server } from '../src/server.ts'

expect.extend(matchers)

it('greets a person by name', async () => {
  await using client = await connect(server)
  expect(await client.callTool('greet', { name: 'Ada' })).toHaveText('Hello, Ada!')
})

it('refuses arguments that do not match the schema', async () => {
  await using client = await connect(server)
  expect(await client.callTool('greet', {})).toBeToolError(/name/)
})
