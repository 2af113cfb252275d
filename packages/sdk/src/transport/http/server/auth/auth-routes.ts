import type { ServerResponse } from 'node:http'
import type { AuthCall, AuthRoutes } from '../../../../auth/server/call.ts'
import { isForm } from '../../../../auth/server/params.ts'
import { Deadlines } from '../../../../util/deadlines.ts'
import { isObject } from '../../../../util/objects.ts'
import { type Body, type BodyLimits, type HttpCall, Refusal, refusedCode } from '../call.ts'
import { NodeCall } from '../node.ts'
import { WebCall } from '../web.ts'
import { pathOf } from './metadata.ts'
import type { NodeMiddleware } from './middleware.ts'

/** Forms and metadata of clients are small. */
const maxBodyBytes = 65_536
const bodyTimeoutMs = 30_000
const limits: BodyLimits = { maxBodyBytes, bodyTimeoutMs, deadlines: new Deadlines(bodyTimeoutMs) }

/** Answers a request to an endpoint of an authorization server; throws a `Refusal` for a body that cannot be read. */
export async function answerRoute(call: HttpCall, routes: AuthRoutes, response?: ServerResponse): Promise<void> {
  const { request, method } = call
  const body = method === 'POST' ? await readBody(call) : ''
  const { url, peer } = request
  const authCall: AuthCall = { method, url, header: (name) => request.header(name), body, peer, response }
  const reply = await routes.answer(authCall)
  if (reply) call.reply(reply.status, reply.headers, method === 'HEAD' ? '' : reply.body)
}

/** For Express and its like: answers what is among the routes, and leaves the rest to what follows. */
export function routesMiddleware(routes: AuthRoutes): NodeMiddleware {
  return (request, response, next) => {
    const call = new NodeCall(request, response)
    if (!routes.handles(pathOf(call))) return next ? next() : nothingHere().send(call)
    answerRoute(call, routes, withRedirect(response)).catch((problem) => {
      if (problem instanceof Refusal) problem.send(call)
      else if (next) next(problem)
      else new Refusal(500, refusedCode, 'Internal error').send(call)
    })
  }
}

/** For runtimes with `fetch`. */
export async function routesFetch(routes: AuthRoutes, request: Request): Promise<Response> {
  const call = new WebCall(request)
  try {
    if (!routes.handles(pathOf(call))) throw nothingHere()
    await answerRoute(call, routes)
  } catch (problem) {
    const refusal = problem instanceof Refusal ? problem : new Refusal(500, refusedCode, 'Internal error')
    refusal.send(call)
  }
  return call.response
}

function nothingHere(): Refusal {
  return new Refusal(404, refusedCode, 'Nothing is served here')
}

function readBody(call: HttpCall): Promise<string> {
  return new Promise((resolve, reject) => {
    call.body(limits, (body) => {
      if (body instanceof Refusal) reject(body)
      else resolve(toText(body, call.request.header('content-type')))
    })
  })
}

/** What a body parser in front of us took apart is put together again. */
function toText(body: Body, contentType: string | undefined): string {
  if (typeof body === 'string') return body
  const { value } = body
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (!isForm(contentType) || !isObject(value)) return JSON.stringify(value ?? '')
  const pairs = Object.entries(value).flatMap(([name, given]) => [given].flat().map((each) => [name, String(each)]))
  return new URLSearchParams(pairs as [string, string][]).toString()
}

/** Providers write their answer by `response.redirect`, which only frameworks have. */
function withRedirect(response: ServerResponse): ServerResponse {
  if ('redirect' in response) return response
  const redirect = (...given: [string] | [number, string]) => {
    const [status, location] = given.length === 1 ? [302, given[0]] : given
    response.writeHead(status, { location, 'cache-control': 'no-store' })
    response.end()
  }
  return Object.assign(response, { redirect })
}
