import { Client as V2Client, StreamableHTTPClientTransport as V2Transport } from '@modelcontextprotocol/client'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as V1Transport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { connect } from 'tenon/client'

/** The Tenon client. `heard` counts the updates of each resource, `missed` the updatesMissed events. */
export async function tenonPeer(url, revision, options = {}) {
  const client = await connect(url, { revision, ...options })
  const peer = {
    name: 'tenon',
    client,
    heard: new Map(),
    missed: 0,
    call: (name, args, options) => client.callTool(name, args, options),
    subscribe: (uri) => client.subscribeResource(uri),
    close: () => client.close(),
  }
  client.on('resourceUpdated', ({ uri }) => count(peer.heard, uri))
  client.on('updatesMissed', () => peer.missed++)
  return peer
}

export async function officialV1Peer(url) {
  const client = new V1Client({ name: 'official-v1', version: '1.0.0' })
  client.onerror = () => {}
  const heard = new Map()
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => count(heard, params.uri))
  await client.connect(new V1Transport(url))
  return {
    name: 'official-v1',
    heard,
    call: (name, args, { onProgress = () => {} } = {}) =>
      client.callTool({ name, arguments: args }, undefined, { onprogress: onProgress }),
    subscribe: (uri) => client.subscribeResource({ uri }),
    close: () => client.close(),
  }
}

export async function officialV2Peer(url, revision) {
  const isModern = revision === '2026-07-28'
  const speaking = isModern
    ? { versionNegotiation: { mode: { pin: revision } } }
    : { supportedProtocolVersions: [revision], versionNegotiation: { mode: 'legacy' } }
  const client = new V2Client({ name: 'official-v2', version: '1.0.0' }, speaking)
  client.onerror = () => {}
  const heard = new Map()
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => count(heard, params.uri))
  await client.connect(new V2Transport(url))
  let isOpen = true
  // With this client the application has to subscribe again.
  const keepListening = async (uri) => {
    const subscription = await client.listen({ resourceSubscriptions: [uri] })
    void subscription.closed.then(async () => {
      while (isOpen && !(await keepListening(uri).catch(() => false)))
        await new Promise((next) => setTimeout(next, 100))
    })
    return true
  }
  return {
    name: 'official-v2',
    heard,
    call: (name, args, { onProgress = () => {} } = {}) =>
      client.callTool({ name, arguments: args }, { onprogress: onProgress }),
    subscribe: (uri) => (isModern ? keepListening(uri) : client.subscribeResource({ uri })),
    close: () => {
      isOpen = false
      return client.close()
    },
  }
}

function count(map, key) {
  map.set(key, (map.get(key) ?? 0) + 1)
}
