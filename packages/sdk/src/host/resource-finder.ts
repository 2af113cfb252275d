import { McpError } from '../errors.ts'
import { UriTemplate } from '../protocol/uri-template.ts'
import type { HostResource, HostResourceTemplate } from './host.ts'
import type { ServerConnection } from './server-connection.ts'
import type { ServerConnections } from './server-connections.ts'

/** Finds the server of a resource, and lists the resources of all servers. */
export class ResourceFinder {
  readonly #connections: ServerConnections

  constructor(connections: ServerConnections) {
    this.#connections = connections
  }

  /** A server that fails is left out, so that it does not affect the others. */
  async list(): Promise<HostResource[]> {
    const lists = this.#withResources().map(async (connection) => {
      const resources = await connection.use((client) => client.listResources().all()).catch(() => [])
      return resources.map((resource) => ({ ...resource, server: connection.server.id }))
    })
    return (await Promise.all(lists)).flat()
  }

  templates(): HostResourceTemplate[] {
    return this.#connections
      .all()
      .flatMap(({ server, definitions }) =>
        (definitions?.resourceTemplates ?? []).map((template) => ({ ...template, server: server.id })),
      )
  }

  /**
   * The only server that has the URI: in its list, or by a template. Throws if there is none, or more than one.
   *
   * @param counts Servers that do not count are treated as if they did not exist.
   */
  async find(uri: string, counts: (server: string) => boolean): Promise<ServerConnection> {
    const listed = (await this.list()).filter((resource) => resource.uri === uri && counts(resource.server))
    const candidates = listed.length > 0 ? listed.map(({ server }) => server) : this.#byTemplate(uri).filter(counts)
    const found = [...new Set(candidates)]
    const [id] = found
    if (id !== undefined && found.length === 1) return this.#connections.get(id)
    const why =
      found.length === 0
        ? 'No server lists it, or has a template for it'
        : `Several servers have it: ${found.join(', ')}`
    throw new McpError('invalid-argument', `${uri}: ${why}. Pass { server } to choose one.`)
  }

  #byTemplate(uri: string): string[] {
    return this.templates()
      .filter(({ uriTemplate }) => matchesTemplate(uriTemplate, uri))
      .map(({ server }) => server)
  }

  #withResources(): ServerConnection[] {
    return this.#connections.all().filter(({ hasResources }) => hasResources)
  }
}

/** A template that a server got wrong matches nothing. */
function matchesTemplate(template: string, uri: string): boolean {
  try {
    return new UriTemplate(template).match(uri) !== undefined
  } catch {
    return false
  }
}
