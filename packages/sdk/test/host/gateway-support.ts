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
