import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Target } from '../target.ts'
import { Api, sendError } from './api.ts'
import { Assets, builtPage } from './assets.ts'
import { refuseApi, refuseForeign } from './guard.ts'
import type { TargetOptions } from './inspected-server.ts'
import { InspectorState, type InspectorStateOptions } from './inspector-state.ts'
import type { ConnectRequest } from './protocol.ts'
import { ApiError } from './request-body.ts'

/** Options of `createInspector`. */
export interface InspectorOptions extends InspectorStateOptions {
  /** The folder of the page. Default: the one that is built into this package. */
  readonly page?: string | undefined
}

/** A page that inspects MCP servers, with its backend. It has to be served on a loopback address. */
export interface Inspector {
  /** The path of the page with the secret of this start, to be added to the origin: `/#secret=...` */
  readonly path: string
  /**
   * Responds to a request of the page.
   * @returns False if the path belongs to neither the page nor its API. Then nothing was sent.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean
  /** Adds a server to the page and begins to connect. Throws if the target cannot be understood. */
  connect(request: ConnectRequest): void
  /** Adds a server when the first page is opened. */
  connectOnOpen(request: ConnectRequest): void
  /** Adds a server for a target that was found already. */
  connectTo(target: Target, options?: TargetOptions): void
  /** Ends all connections, to pages and to servers. */
  close(): Promise<void>
}

/**
 * Creates an inspector, to be served by a `node:http` server on a loopback address.
 *
 * @example
 * const inspector = createInspector()
 * inspector.connect({ target: 'node server.js' })
 * const http = createServer((request, response) => void inspector.handle(request, response))
 */
export function createInspector({ page = builtPage, ...options }: InspectorOptions = {}): Inspector {
  const secret = randomBytes(32).toString('base64url')
  const state = new InspectorState(options)
  const api = new Api(state)
  const assets = new Assets(page)
  return {
    path: `/#secret=${secret}`,
    handle(request, response) {
      const path = pathOf(request)
      if (!isOurs(path)) return false
      for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value)
      const isApi = path.startsWith('api/')
      const refusal = refuseForeign(request) ?? (isApi ? refuseApi(request, secret) : undefined)
      if (refusal) sendError(response, new ApiError(refusal.status, codes[refusal.status], refusal.message))
      else if (isApi) void api.handle(path.slice('api/'.length), request, response)
      else void sendAsset(assets, path, request, response)
      return true
    },
    connect: (request) => void state.connect(request),
    connectOnOpen: (request) => api.onFirstPage(() => void state.connect(request)),
    connectTo: (target, request) => void state.connectTo(target, request),
    async close() {
      api.close()
      await state.close()
    },
  }
}

const codes = { 401: 'unauthorized', 403: 'forbidden' } as const

/** Nothing that a server sends may run on the page, load something, or be framed. */
const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' blob: data:",
    'media-src blob: data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const [path = ''] = url.split(/[?#]/)
  return path.replace(/^\//, '')
}

function isOurs(path: string): boolean {
  return (
    path === '' ||
    path === 'index.html' ||
    path === 'favicon.ico' ||
    path === 'favicon.svg' ||
    /^(api|assets)\//.test(path)
  )
}

async function sendAsset(
  assets: Assets,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new ApiError(405, 'method', 'The page can only be read.')
    const asset = await assets.read(path)
    if (!asset) throw new ApiError(404, 'not-found', 'Not found.')
    response.writeHead(200, { 'content-type': asset.type, 'content-length': asset.body.length })
    response.end(request.method === 'HEAD' ? undefined : asset.body)
  } catch (error) {
    sendError(response, error)
  }
}
