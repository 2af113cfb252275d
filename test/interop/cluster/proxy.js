import { once } from 'node:events'
import { Agent, createServer, get, request } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'

/** How often the proxy checks whether nodes are ready, as load balancers do. */
const probeMs = 50

/**
 * Sends each request to the next node that is ready, on keep-alive connections. Behaves like common load balancers:
 * only a request that could not be sent at all is sent to another node.
 *
 * @param tries How often such a request is sent again.
 */
export async function openHttpProxy(nodes, { tries = nodes.length } = {}) {
  const agents = new Map()
  const unready = new Set()
  let turn = 0
  const server = createServer(async (incoming, outgoing) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    pass(incoming, outgoing, Buffer.concat(chunks), tries)
  })
  // The proxy's own connections are not under test.
  server.keepAliveTimeout = 120_000

  function next() {
    for (let tries = 0; tries < nodes.length; tries++) {
      const node = nodes[turn++ % nodes.length]
      if (!unready.has(node)) return node
    }
    return nodes[turn++ % nodes.length]
  }

  function pass(incoming, outgoing, body, triesLeft) {
    const node = next()
    if (!agents.has(node.port)) agents.set(node.port, new Agent({ keepAlive: true, maxSockets: 1_000 }))
    const { 'transfer-encoding': _, connection: __, ...headers } = incoming.headers
    const there = request({
      host: '127.0.0.1',
      port: node.port,
      method: incoming.method,
      path: incoming.url,
      headers: { ...headers, 'content-length': body.length },
      agent: agents.get(node.port),
    })
    const abandon = () => there.destroy()
    there.on('response', (answer) => {
      const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...fields } = answer.headers
      outgoing.writeHead(answer.statusCode, fields)
      outgoing.flushHeaders()
      answer.on('data', (chunk) => outgoing.write(chunk))
      answer.on('end', () => outgoing.end())
      answer.on('error', () => outgoing.destroy())
    })
    there.on('error', (error) => {
      if (error.code === 'ECONNREFUSED' && triesLeft > 0) {
        unready.add(node)
        outgoing.off('close', abandon)
        return void setTimeout(() => pass(incoming, outgoing, body, triesLeft - 1), 5)
      }
      if (outgoing.headersSent) return outgoing.destroy()
      outgoing.writeHead(502)
      outgoing.end(`${error.code} ${error.message}${there.reusedSocket ? ' (kept connection)' : ''}`)
    })
    outgoing.on('close', abandon)
    there.end(body)
  }

  const probing = setInterval(() => {
    for (const node of nodes) {
      if (!node.port) continue
      const probe = get({ host: '127.0.0.1', port: node.port, path: '/healthz', timeout: 1_000 }, (answer) => {
        answer.resume()
        if (answer.statusCode === 200) unready.delete(node)
        else unready.add(node)
      })
      probe.on('error', () => unready.add(node))
      probe.on('timeout', () => probe.destroy())
    }
  }, probeMs)

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    close: () => {
      clearInterval(probing)
      for (const agent of agents.values()) agent.destroy()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Forwards each new connection to the next node that accepts it, without knowledge of HTTP or readiness. */
export async function openTcpProxy(nodes, { cutAfterBytes } = {}) {
  const sockets = new Set()
  let turn = 0
  const proxy = { cutAfterBytes, cuts: 0 }
  const server = createTcpServer({ allowHalfOpen: true }, (client) => {
    keep(client)
    dial(client, nodes.length * 20)
  })

  function keep(socket) {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }

  function dial(client, triesLeft) {
    const there = connect({ host: '127.0.0.1', port: nodes[turn++ % nodes.length].port, allowHalfOpen: true })
    const refused = () => {
      if (triesLeft > 0 && !client.destroyed) setTimeout(() => dial(client, triesLeft - 1), 20)
      else client.destroy()
    }
    there.once('error', refused)
    there.once('connect', () => {
      there.off('error', refused)
      keep(there)
      client.pipe(there)
      there.on('data', (chunk) => client.write(chunk))
      there.on('end', () => client.end())
      there.on('error', () => client.destroy())
      there.on('close', () => client.destroySoon())
      client.on('close', () => there.destroy())
      there.on('data', () => {
        if (client.destroyed || there.bytesRead < (proxy.cutAfterBytes ?? Number.POSITIVE_INFINITY)) return
        proxy.cuts++
        client.destroy()
      })
    })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.url = `http://127.0.0.1:${server.address().port}/mcp`
  proxy.close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return proxy
}
