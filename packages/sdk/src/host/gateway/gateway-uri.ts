import type { Resource } from '../../protocol/resources.ts'
import type { HostResource } from '../host.ts'

const scheme = 'tenon-gateway:'

/**
 * Resources keep their URI, unless several servers have the same one, or it would name a server itself. Then each is reachable
 * under a URI that names its server: `tenon-gateway:files/file%3A%2F%2F%2Fa.txt`.
 */
export function toGatewayUris(resources: readonly HostResource[]): Resource[] {
  const counts = new Map<string, number>()
  for (const { uri } of resources) counts.set(uri, (counts.get(uri) ?? 0) + 1)
  return resources.map(({ server, ...resource }) => ({
    ...resource,
    uri:
      counts.get(resource.uri) === 1 && !isGatewayUri(resource.uri)
        ? resource.uri
        : `${scheme}${server}/${encodeURIComponent(resource.uri)}`,
  }))
}

/** Whether a URI or template of a server looks like one that names a server, such as another than its own. */
export function isGatewayUri(uri: string): boolean {
  return uri.trimStart().slice(0, scheme.length).toLowerCase() === scheme
}

/** The URI at the server, and the server if the URI names one. */
export function fromGatewayUri(uri: string): { uri: string; server: string | undefined } {
  const slash = uri.indexOf('/')
  if (!uri.startsWith(scheme) || slash === -1) return { uri, server: undefined }
  try {
    return { uri: decodeURIComponent(uri.slice(slash + 1)), server: uri.slice(scheme.length, slash) }
  } catch {
    return { uri, server: undefined }
  }
}
