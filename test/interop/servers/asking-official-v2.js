import {
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  McpServer,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import { choices, form, info, measured, measuring, page, poem, text, textOf } from './questions.js'
import { serve } from './serve-official-v2.js'

// The same input requests, returned as results. The tools with "push" in their name send requests, before 2026-07-28.

const states = createRequestStateCodec({
  key: 'a key of thirty-two bytes or more',
  bind: ({ mcpReq }) => mcpReq.method,
})
const none = z.object({})
const numbered = z.object({ number: z.number() })
const { elicit, elicitUrl, createMessage, listRoots } = inputRequired
const ask = (message, requestedSchema) => elicit({ message, requestedSchema })
const value = z.object({ value: z.string() })

serve(() => {
  const server = new McpServer(info, { requestState: { verify: states.verify } })
  defineSingles(server)
  defineSeveral(server)
  definePushing(server)
  return server
})

/** Tools with one input request. */
function defineSingles(server) {
  const single = (name, inputSchema, question, show) =>
    server.registerTool(name, { inputSchema }, async (args, { mcpReq }) => {
      const answer = mcpReq.inputResponses?.answer
      return answer ? say(show(answer)) : inputRequired({ inputRequests: { answer: question(args) } })
    })
  single('form', none, () => ask('Your order', form), JSON.stringify)
  single('choose', none, () => ask('Choose', choices), JSON.stringify)
  single('agree', none, () => ask('Agreed?', { type: 'object', properties: {} }), actionOf)
  single('page', none, () => elicitUrl(page), actionOf)
  single(
    'poem',
    z.object({ about: z.string() }),
    ({ about }) => createMessage(poem(about)),
    (answer) => `${answer.model}: ${textOf(answer)}`,
  )
  single('roots', none, listRoots, ({ roots }) => JSON.stringify(roots))

  const whom = { inputRequests: { name: ask('Whom?', text('name')) } }
  server.registerPrompt('greeting', {}, async ({ mcpReq }) => {
    if (!mcpReq.inputResponses?.name) return inputRequired(whom)
    const { name = 'nobody' } = acceptedContent(mcpReq.inputResponses, 'name') ?? {}
    return { messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${name}!` } }] }
  })
  server.registerResource('badge', 'badge://mine', {}, async (uri, { mcpReq }) => {
    if (!mcpReq.inputResponses?.name) return inputRequired(whom)
    const { name = 'nobody' } = acceptedContent(mcpReq.inputResponses, 'name') ?? {}
    return { contents: [{ uri: uri.href, text: name }] }
  })
}

/** Tools with several input requests at once and several round trips, with the state so far signed. */
function defineSeveral(server) {
  server.registerTool('pair', { inputSchema: none }, async (_args, { mcpReq }) => {
    const { one, two } = mcpReq.inputResponses ?? {}
    if (!one || !two) return inputRequired({ inputRequests: { one: ask('One?', value), two: ask('Two?', value) } })
    return say([one, two].map(({ action, content }) => content?.value ?? action).join(' '))
  })
  server.registerTool('all', { inputSchema: none }, async (_args, { mcpReq }) => {
    const { filled, visit, sampled, listed } = mcpReq.inputResponses ?? {}
    if (filled) return say([filled.content?.value, visit.action, textOf(sampled), listed.roots[0].uri].join(' '))
    const inputRequests = {
      filled: ask('Value?', value),
      visit: elicitUrl(page),
      sampled: createMessage(poem('wood')),
      listed: listRoots(),
    }
    return inputRequired({ inputRequests })
  })
  server.registerTool('twice', { inputSchema: numbered }, async ({ number }, ctx) => {
    const { inputResponses = {}, requestState } = ctx.mcpReq
    const { name } = requestState() ?? {}
    const { answer } = inputResponses
    if (answer && answer.action !== 'accept') return say(answer.action)
    if (answer && name) return say(`${number} ${name} ${answer.content.colour}`)
    const state = answer ? answer.content : { number }
    const question = answer
      ? ask(`Colour of ${answer.content.name}?`, text('colour'))
      : ask(`Name of ${number}?`, text('name'))
    return inputRequired({ inputRequests: { answer: question }, requestState: await states.mint(state, ctx) })
  })
  server.registerTool('measure', { inputSchema: none }, async (_args, ctx) => {
    const { answer } = ctx.mcpReq.inputResponses ?? {}
    if (ctx.mcpReq.requestState()) return say(textOf(answer))
    if (!answer) return inputRequired({ inputRequests: { answer: createMessage(measuring) } })
    const inputRequests = { answer: createMessage(measured(answer.content)) }
    return inputRequired({ inputRequests, requestState: await states.mint('measured', ctx) })
  })
  server.registerTool('forever', { inputSchema: none }, async () =>
    inputRequired({ inputRequests: { again: ask('Again?', value) } }),
  )
  server.registerTool('later', { inputSchema: none }, async (_args, ctx) => {
    const rounds = ctx.mcpReq.requestState() ?? 0
    if (rounds === 2) return say('ready')
    return inputRequired({ requestState: await states.mint(rounds + 1, ctx) })
  })
}

function definePushing(server) {
  server.registerTool('push-form', { inputSchema: none }, async (_args, { mcpReq }) =>
    say(JSON.stringify(await mcpReq.elicitInput({ mode: 'form', message: 'Your order', requestedSchema: form }))),
  )
  server.registerTool('push-poem', { inputSchema: none }, async (_args, { mcpReq }) =>
    say(textOf(await mcpReq.requestSampling(poem('wood')))),
  )
  // Sent on the GET stream over HTTP, not on the stream of the call.
  server.registerTool('push-roots', { inputSchema: none }, async () =>
    say(JSON.stringify((await server.server.listRoots()).roots)),
  )
  server.registerTool('push-page', { inputSchema: none }, async (_args, { mcpReq }) => {
    const { action } = await mcpReq.elicitInput({ mode: 'url', elicitationId: 'bill-7', ...page })
    await server.server.createElicitationCompletionNotifier('bill-7')()
    return say(action)
  })
  server.registerTool('locked', { inputSchema: none }, async () => {
    throw new UrlElicitationRequiredError([{ mode: 'url', elicitationId: 'bill-8', ...page }])
  })
}

function actionOf({ action }) {
  return action
}

function say(text) {
  return { content: [{ type: 'text', text }] }
}
