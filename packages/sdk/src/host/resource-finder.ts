import { McpError } from '../errors.ts'
import type { Resource } from '../protocol/resources.ts'
import { UriTemplate } from '../protocol/uri-template.ts'
import type { HostResource, HostResourceTemplate } from './host.ts'
import { ResourceList, type ResourceListOptions } from './resource-list.ts'
import type { ServerConnection } from './server-connection.ts'
import type { ServerConnections } from './server-connections.ts'

/** What is known about the resources of one server. */
interface KnownResources {
  readonly connection: ServerConnection
  readonly resources: readonly Resource[]
  /** The server may have others, but cannot list them now. */
  readonly isSilent: boolean
}

/** Finds the server of a resource, and lists the resources of all servers. */
export class ResourceFinder {
  readonly #connections: ServerConnections
  readonly #options: ResourceListOptions
  readonly #lists = new WeakMap<ServerConnection, ResourceList>()

  constructor(connections: ServerConnections, options: ResourceListOptions) {
    this.#connections = connections
    this.#options = options
  }

  /** A server that fails or does not answer does not affect the others: its last list is used. */
  async list(): Promise<HostResource[]> {
    const known = await this.#read()
    return known.filter(({ connection }) => connection.hasResources).flatMap(named)
  }

  #read(): Promise<KnownResources[]> {
    return Promise.all(this.#connections.all().map((connection) => this.#readOne(connection)))
  }

  async #readOne(connection: ServerConnection): Promise<KnownResources> {
    const list = this.#listOf(connection)
    if (connection.hasResources) {
      const resources = await list.read()
      return { connection, resources: resources ?? list.known, isSilent: resources === undefined }
    }
    const isSilent = connection.state !== 'disabled' && !connection.definitions
    // What a server listed stays its own, so that no other gets what is meant for it.
    return { connection, resources: isSilent ? list.known : [], isSilent }
  }

  #listOf(connection: ServerConnection): ResourceList {
    const list = this.#lists.get(connection) ?? new ResourceList(connection, this.#options)
    this.#lists.set(connection, list)
    return list
  }

  templates(): HostResourceTemplate[] {
    return this.#connections
      .all()
      .flatMap(({ server, definitions }) =>
        (definitions?.resourceTemplates ?? []).map((template) => ({ ...template, server: server.id })),
      )
  }

  /**
   * The only server that has the URI: in its list (the last one, while it cannot list), or by a template. Throws if there is none, or more than one.
   *
   * @param counts Servers that do not count are treated as if they did not exist.
   */
  async find(uri: string, counts: (server: string) => boolean): Promise<ServerConnection> {
    const known = (await this.#read()).filter(({ connection }) => counts(connection.server.id))
    const listed = known.flatMap(named).filter((resource) => resource.uri === uri)
    const isListed = listed.length > 0
    const candidates = isListed ? listed.map(({ server }) => server) : this.#byTemplate(uri).filter(counts)
    const found = [...new Set(candidates)]
    const [id] = found
    const silent = known
      .filter(({ isSilent }) => isSilent)
      .map(({ connection }) => connection.server.id)
      .filter((server) => server !== id)
    const others = silent.filter((server) => this.#mayHave(server, uri))
    // A server must not get what is meant for one that cannot say that it has it.
    const isCertain = isListed
      ? others.length === 0
      : silent.length === 0 || (others.length === 0 && this.#namesScheme(id, uri))
    if (id !== undefined && found.length === 1 && isCertain) return this.#connections.get(id)
    throw new McpError('invalid-argument', `${uri}: ${whyNot(found, silent)}. Pass { server } to choose one.`)
  }

  /** Whether a server had a template for the URI when it was last connected, or approved. */
  #mayHave(server: string, uri: string): boolean {
    return this.#connections.approvedTemplates(server).some((template) => matchesTemplate(template, uri))
  }

  /** Whether a template of the server names the scheme of the URI, instead of matching everything. */
  #namesScheme(server: string | undefined, uri: string): boolean {
    const scheme = uri.slice(0, uri.indexOf(':') + 1)
    return this.templates().some(
      ({ server: owner, uriTemplate }) =>
        owner === server && scheme !== '' && uriTemplate.startsWith(scheme) && matchesTemplate(uriTemplate, uri),
    )
  }

  #byTemplate(uri: string): string[] {
    return this.templates()
      .filter(({ uriTemplate }) => matchesTemplate(uriTemplate, uri))
      .map(({ server }) => server)
  }
}

function named({ connection, resources }: KnownResources): HostResource[] {
  return resources.map((resource) => ({ ...resource, server: connection.server.id }))
}

function whyNot(found: readonly string[], silent: readonly string[]): string {
  if (found.length > 1) return `Several servers have it: ${found.join(', ')}`
  if (found.length === 0) return 'No server lists it, or has a template for it'
  return `It may belong to a server that cannot list its resources now: ${silent.join(', ')}`
}

/** A template that a server got wrong matches nothing. */
function matchesTemplate(template: string, uri: string): boolean {
  try {
    return new UriTemplate(template).match(uri) !== undefined
  } catch {
    return false
  }
}
