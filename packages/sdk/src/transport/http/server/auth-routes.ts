import type { ServerResponse } from 'node:http'
import {
  type AuthRoutes,
  type EndpointError,
  type PublicDocuments,
  pathOf,
  type RequestHead,
} from '../../../auth/http.ts'
import { isForm } from '../../../auth/server/params.ts'
import { Deadlines } from '../../../util/deadlines.ts'
import { isObject } from '../../../util/objects.ts'
import { type Body, type BodyLimits, type HttpCall, Refusal, refusedCode } from './call.ts'
import { NodeCall } from './node.ts'
import type { NodeRequest } from './node-request.ts'
import { WebCall } from './web.ts'

/** A middleware function of Express, Connect and similar frameworks. */
export type NodeMiddleware = (request: NodeRequest, response: ServerResponse, next?: (error?: unknown) => void) => void

/** Forms and client metadata are small. */
const maxBodyBytes = 65_536
const bodyTimeoutMs = 30_000
const limits: BodyLimits = { maxBodyBytes, bodyTimeoutMs, deadlines: new Deadlines(bodyTimeoutMs) }

/** Returns the part of a request that `auth/` works on. */
export function headOf({ method, request }: HttpCall): RequestHead {
  return { method, url: request.url, header: (name) => request.header(name) }
}

/** Turns a refusal of `auth/` into a JSON-RPC error response. */
export function toRefusal({ status, message, headers, data }: EndpointError): Refusal {
  const refusal = new Refusal(status, refusedCode, message, undefined, headers)
  refusal.data = data
  return refusal
}

/** Answers a request for a public document. */
export function answerDocument(call: HttpCall, documents: Pick<PublicDocuments, 'respond'>): void {
  const response = documents.respond(headOf(call))
  if ('message' in response) toRefusal(response).send(call)
  else call.reply(response.status, response.headers, response.body)
}

/** Answers a request to an endpoint of an authorization server. Throws a `Refusal` if the body cannot be read. */
export async function answerRoute(call: HttpCall, routes: AuthRoutes, response?: ServerResponse): Promise<void> {
  const { request, method } = call
  const body = method === 'POST' ? await readBody(call) : ''
  const reply = await routes.respond({ ...headOf(call), body, peer: request.peer, response })
  if (reply) call.reply(reply.status, reply.headers, method === 'HEAD' ? '' : reply.body)
}

/** The endpoints of a middleware. */
export interface Served {
  readonly routes?: AuthRoutes | undefined
  readonly documents?: PublicDocuments | undefined
}

/** Creates a middleware that answers requests to these routes and documents, and passes on all others. */
export function toMiddleware({ routes, documents }: Served): NodeMiddleware {
  return (request, response, next) => {
    const call = new NodeCall(request, response)
    const path = pathOf(call.request)
    if (!routes?.handles(path)) {
      if (documents?.handles(path)) return answerDocument(call, documents)
      return next ? next() : notFound().send(call)
    }
    answerRoute(call, routes, withRedirect(response)).catch((problem) => {
      if (problem instanceof Refusal) problem.send(call)
      else if (next) next(problem)
      else new Refusal(500, refusedCode, 'Internal error').send(call)
    })
  }
}

/** Answers a web-standard request to these routes, and all others with 404. */
export async function routesFetch(routes: AuthRoutes, request: Request): Promise<Response> {
  const call = new WebCall(request)
  try {
    if (!routes.handles(pathOf(call.request))) throw notFound()
    await answerRoute(call, routes)
  } catch (problem) {
    const refusal = problem instanceof Refusal ? problem : new Refusal(500, refusedCode, 'Internal error')
    refusal.send(call)
  }
  return call.response
}

function notFound(): Refusal {
  return new Refusal(404, refusedCode, 'Not found')
}

function readBody(call: HttpCall): Promise<string> {
  return new Promise((resolve, reject) => {
    call.body(limits, (body) => {
      if (body instanceof Refusal) reject(body)
      else resolve(toText(body, call.request.header('content-type')))
    })
  })
}

/** Serializes a body again that a body parser in front of us has parsed. */
function toText(body: Body, contentType: string | undefined): string {
  if (typeof body === 'string') return body
  const { value } = body
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (!isForm(contentType) || !isObject(value)) return JSON.stringify(value ?? '')
  const params = new URLSearchParams()
  for (const [name, values] of Object.entries(value)) {
    for (const each of [values].flat()) params.append(name, String(each))
  }
  return params.toString()
}

/** Adds `response.redirect`, which providers call and only frameworks have. */
function withRedirect(response: ServerResponse): ServerResponse {
  if ('redirect' in response) return response
  const redirect = (...args: [string] | [number, string]) => {
    const [status, location] = args.length === 1 ? [302, args[0]] : args
    response.writeHead(status, { location, 'cache-control': 'no-store' })
    response.end()
  }
  return Object.assign(response, { redirect })
}
