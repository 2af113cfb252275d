import { connect } from 'tenon/client'
import { acceptedContent, inputRequired, McpServer } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { expect, it } from 'vitest'
import { z } from 'zod'

const config = { execution: { taskSupport: 'required' } } as const

for (const revision of ['2025-11-25', '2026-07-28'] as const) {
  it(`a question that is asked again gets a new key and is answered again [XTASK-023] (${revision})`, async () => {
    const server = new McpServer({ name: 'asker', version: '1.0.0' }, { tasks: tasks({ pollIntervalMs: 20 }) })
    const age = z.object({ age: z.number() })
    server.registerTool('age', config, (_args, ctx) => {
      const given = acceptedContent(ctx.inputResponses, 'age', age)
      if (given && given.age >= 18) return `${given.age} is fine`
      const question = inputRequired.elicit({ message: 'How old are you?', requestedSchema: age })
      return inputRequired({ inputRequests: { age: question } })
    })
    const answers = [7, 12, 18]
    const client = await connect(server, {
      revision,
      handlers: { elicit: () => ({ action: 'accept', content: { age: answers.shift()! } }) },
    })
    const task = await client.callToolAsTask('age')
    expect((await task.result()).text).toBe('18 is fine')
    expect(answers).toEqual([])
    await client.close()
    await server.close()
  })
}
