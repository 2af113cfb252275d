import { createGateway } from '../../src/host/gateway/gateway.ts'
import type { GatewayOptions } from '../../src/host/gateway/options.ts'
import { createHost, type Host } from '../../src/host/host.ts'
import type { HostOptions } from '../../src/host/options.ts'
import { type ServeHttpOptions, serveHttp } from '../../src/serve/http.ts'
import { allowAll } from './support.ts'

export interface ServedGateway extends AsyncDisposable {
  readonly host: Host
  readonly url: string
}

/** Options of `serveGateway`: those of the gateway, of its host and of HTTP. */
export interface ServedGatewayOptions extends GatewayOptions {
  readonly host?: Partial<HostOptions>
  readonly http?: ServeHttpOptions
}

/** Serves a host that allows everything over HTTP. */
export async function serveGateway(
  servers: HostOptions['servers'],
  { host: hostOptions, http: httpOptions, ...options }: ServedGatewayOptions = {},
): Promise<ServedGateway> {
  const host = await createHost({ servers, policy: allowAll, ...hostOptions })
  const http = await serveHttp(createGateway(host, options), { port: 0, exit: false, ...httpOptions })
  return {
    host,
    url: http.url,
    [Symbol.asyncDispose]: async () => {
      await http.close()
      await host.close()
    },
  }
}

/** Sends one request of 2026-07-28 as raw HTTP. */
export async function post(
  url: string,
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  }
  const name = (params.name ?? params.uri) as string | undefined
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  })
  const text = await response.text()
  const json = text.startsWith('{') ? text : (text.match(/^data: (\{.*)$/m)?.[1] ?? '{}')
  return {
    status: response.status,
    body: JSON.parse(json) as { result?: Record<string, unknown>; error?: { code: number } },
  }
}
