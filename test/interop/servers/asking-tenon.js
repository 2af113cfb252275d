import { acceptedContent, inputRequired, McpServer, UrlElicitationRequiredError } from 'tenon/server'
import * as z from 'zod'
import { choices, form, info, measured, measuring, order, page, poem, text } from './questions.js'
import { serve } from './serve-tenon.js'

// Handlers that await input of the client, written once for all revisions.

const server = new McpServer(info)
const none = z.object({})
const plans = new Map()
const visited = new Set()

server.registerTool('form', { inputSchema: none }, async (_args, ctx) =>
  JSON.stringify(await ctx.elicit('Your order', order)),
)
server.registerTool('raw-form', { inputSchema: none }, async (_args, ctx) =>
  JSON.stringify(await ctx.elicit('Your order', form)),
)
server.registerTool('choose', { inputSchema: none }, async (_args, ctx) =>
  JSON.stringify(await ctx.elicit('Choose', choices)),
)
server.registerTool('agree', { inputSchema: none }, async (_args, ctx) => (await ctx.elicit('Agreed?')).action)
server.registerTool('page', { inputSchema: none }, async (_args, ctx) => {
  const { action, complete } = await ctx.elicitUrl(page.message, page.url)
  complete()
  return action
})
server.registerTool('poem', { inputSchema: z.object({ about: z.string() }) }, async ({ about }, ctx) => {
  const { model, text } = await ctx.sample(poem(about))
  return `${model}: ${text}`
})
server.registerTool('measure', { inputSchema: none }, async (_args, ctx) => {
  const { content } = await ctx.sample(measuring)
  return (await ctx.sample(measured(content))).text
})
server.registerTool('roots', { inputSchema: none }, async (_args, ctx) => JSON.stringify(await ctx.roots()))

server.registerTool('twice', { inputSchema: z.object({ number: z.number() }) }, async ({ number }, ctx) => {
  const name = await ctx.elicit(`Name of ${number}?`, z.object({ name: z.string() }))
  if (name.action !== 'accept') return name.action
  const colour = await ctx.elicit(`Colour of ${name.content.name}?`, z.object({ colour: z.string() }))
  return colour.action === 'accept' ? `${number} ${name.content.name} ${colour.content.colour}` : colour.action
})
server.registerTool('pair', { inputSchema: none }, async (_args, ctx) => {
  const schema = z.object({ value: z.string() })
  const answers = await Promise.all([ctx.elicit('One?', schema), ctx.elicit('Two?', schema)])
  return answers.map(({ action, content }) => content?.value ?? action).join(' ')
})
server.registerTool('all', { inputSchema: none }, async (_args, ctx) => {
  const [filled, visit, sampled, roots] = await Promise.all([
    ctx.elicit('Value?', z.object({ value: z.string() })),
    ctx.elicitUrl(page.message, page.url),
    ctx.sample(poem('wood')),
    ctx.roots(),
  ])
  return [filled.content?.value, visit.action, sampled.text, roots[0].uri].join(' ')
})
server.registerTool('forever', { inputSchema: none }, async (_args, ctx) => {
  for (let key = 1; ; key++) await ctx.elicit('Again?', text('value'), { key: `${key}` })
})

server.registerPrompt('greeting', {}, async (_args, ctx) => {
  const { content } = await ctx.elicit('Whom?', z.object({ name: z.string() }))
  return `Hello, ${content?.name ?? 'nobody'}!`
})
server.registerResource('badge', 'badge://mine', {}, async (_uri, ctx) => {
  const { content } = await ctx.elicit('Whom?', z.object({ name: z.string() }))
  return content?.name ?? 'nobody'
})

server.registerTool('plan', { inputSchema: z.object({ number: z.number() }) }, async ({ number }, ctx) => {
  await ctx.once('plan', () => {
    plans.set(number, (plans.get(number) ?? 0) + 1)
  })
  for (const key of ['a', 'b', 'c']) await ctx.elicit(`Is ${key} fine?`, undefined, { key })
  return `planned ${plans.get(number)}`
})
server.registerTool('can', { inputSchema: none }, async (_args, ctx) =>
  ['elicit', 'elicitUrl', 'sample', 'sampleTools', 'roots'].filter((what) => ctx.can(what)).join(' '),
)
server.registerTool('locked', { inputSchema: z.object({ number: z.number() }) }, async ({ number }) => {
  if (visited.has(number)) return 'open'
  visited.add(number)
  throw new UrlElicitationRequiredError([{ message: 'Unlock it there', url: `https://example.com/unlock/${number}` }])
})

server.registerTool('by-hand', { inputSchema: z.object({ number: z.number() }) }, ({ number }, ctx) => {
  const ask = (name, message) => ({
    [name]: inputRequired.elicit({ message, requestedSchema: z.object({ [name]: z.string() }) }),
  })
  const colour = acceptedContent(ctx.inputResponses, 'colour')?.colour
  if (colour) return `${number} ${ctx.requestState.name} ${colour}`
  const name = acceptedContent(ctx.inputResponses, 'name')?.name
  if (!name) return inputRequired({ inputRequests: ask('name', `Name of ${number}?`) })
  return inputRequired({ inputRequests: ask('colour', `Colour of ${name}?`), requestState: { name } })
})

await serve(server)
