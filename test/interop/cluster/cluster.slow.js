// Four server processes, one Redis, a proxy in front, and clients that keep calling while processes stop and restart.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { officialV1Peer, officialV2Peer, tenonPeer } from './peers.js'
import { openHttpProxy, openTcpProxy } from './proxy.js'
import { Cluster, eventually, Load } from './support.js'

const uris = [1, 2, 3, 4, 5].map((number) => `note://${number}`)
const clientCount = Number(process.env.TENON_CLUSTER_CLIENTS ?? 50)
const restartCount = Number(process.env.TENON_CLUSTER_RESTARTS ?? 12)
const callCount = Number(process.env.TENON_CLUSTER_CALLS ?? 10_000)
const probed = { healthPath: '/healthz' }

const skip = spawnSync('redis-server', ['--version']).status !== 0 && 'redis-server is not on the PATH'

/** How long all processes are stopped in one of the tests; set it to 180,000 to test three minutes in real time. */
const awayMs = Number(process.env.TENON_CLUSTER_AWAY_MS ?? 3_000)

describe('rolling restarts (SIGTERM) under load', { skip }, () => {
  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`no call is lost or runs twice, and every client gets every later update (${revision})`, async (t) => {
      const cluster = await Cluster.start({ options: probed })
      t.after(() => cluster.close())
      const proxy = await openHttpProxy(cluster.nodes)
      t.after(() => proxy.close())
      const peers = await connectAll(proxy.url, revision)
      t.after(() => Promise.all(peers.map((peer) => peer.close())))

      const load = new Load('http', peers, ['act', 'stream'])
      await rollingRestart(cluster, load, restartCount)
      await eventually(() => load.calls >= callCount, 120_000)
      await load.stop()
      await reportLoad(t, cluster, load)
      assert.ok(load.done.length >= callCount, `${load.done.length} calls`)
      assert.deepEqual(describeFailures(load), [])
      assert.deepEqual(await ranTwice(cluster, load), [])
      await everyoneHears(t, cluster, peers, revision)
    })
  }

  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`no call is lost behind a proxy that does not know which nodes are ready (${revision})`, async (t) => {
      const cluster = await Cluster.start()
      t.after(() => cluster.close())
      const proxy = await openTcpProxy(cluster.nodes)
      t.after(() => proxy.close())
      const peers = await many(clientCount, () => tenonPeer(proxy.url, revision))
      t.after(() => Promise.all(peers.map((peer) => peer.close())))
      await subscribeAll(peers)

      const load = new Load('tcp', peers, ['act', 'stream'], 40)
      await rollingRestart(cluster, load, 4)
      await load.stop()
      await reportLoad(t, cluster, load)
      assert.deepEqual(describeFailures(load), [])
      assert.deepEqual(await ranTwice(cluster, load), [])
      await everyoneHears(t, cluster, peers, revision)
    })
  }
})

describe('processes that are killed (SIGKILL) under load', { skip }, () => {
  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`calls never hang or run twice, and every client gets later updates (${revision})`, async (t) => {
      const cluster = await Cluster.start({ options: probed })
      t.after(() => cluster.close())
      const proxy = await openHttpProxy(cluster.nodes)
      t.after(() => proxy.close())
      const peers = await connectAll(proxy.url, revision)
      t.after(() => Promise.all(peers.map((peer) => peer.close())))
      const load = new Load('kill', peers, ['act', 'stream'])
      for (const node of cluster.nodes) {
        await grow(load, 300)
        await cluster.stop(node, 'SIGKILL')
        await grow(load, 100)
        await cluster.restart(node)
      }
      await grow(load, 300)
      await load.stop()
      await reportLoad(t, cluster, load)
      assert.deepEqual(load.wrong, [])
      assert.deepEqual(await ranTwice(cluster, load), [])
      assert.deepEqual(await didNotRun(cluster, load), [])
      await everyoneHears(t, cluster, peers, revision)
    })
  }

  test('a call whose process was killed fails when its stream is resumed on another (2025-11-25)', async (t) => {
    const cluster = await Cluster.start({ options: probed })
    t.after(() => cluster.close())
    const proxy = await openHttpProxy(cluster.nodes)
    t.after(() => proxy.close())
    const peers = await Promise.all([
      tenonPeer(proxy.url, '2025-11-25'),
      officialV1Peer(proxy.url),
      officialV2Peer(proxy.url, '2025-11-25'),
    ])
    t.after(() => Promise.all(peers.map((peer) => peer.close())))
    for (const peer of peers) {
      const id = `killed-${peer.name}`
      const node = nodeThatBegins(cluster, id)
      let outcome
      // After this the client has an event id from which it can resume.
      await new Promise((onProgress) => {
        outcome = peer.call('wait', { id }, { onProgress }).then(
          (result) => ({ result }),
          (error) => ({ error }),
        )
      })
      await cluster.stop(await node, 'SIGKILL')
      const { error, result } = await outcome
      assert.equal(result, undefined)
      t.diagnostic(`${peer.name}: ${error.message}`)
      assert.match(error.message, /ended before it responded|may have been executed|lost/i)
      assert.deepEqual(await cluster.runs([id]), [1])
      const [dead] = cluster.nodes.filter(({ child }) => child.signalCode !== null)
      await cluster.restart(dead)
    }
  })
})

describe('a cluster whose processes are all stopped', { skip }, () => {
  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`every client gets updates again after the restart (${revision})`, async (t) => {
      const cluster = await Cluster.start({ options: probed })
      t.after(() => cluster.close())
      const proxy = await openTcpProxy(cluster.nodes)
      t.after(() => proxy.close())
      const peers = await many(clientCount, () => tenonPeer(proxy.url, revision))
      t.after(() => Promise.all(peers.map((peer) => peer.close())))
      await subscribeAll(peers)
      await Promise.all(cluster.nodes.map((node) => cluster.stop(node, 'SIGKILL')))
      await sleep(awayMs)
      await Promise.all(cluster.nodes.map((node) => cluster.restart(node)))
      await everyoneHears(t, cluster, peers, revision)
    })
  }
})

describe('other faults under load', { skip }, () => {
  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`no call is lost without Redis for seconds, and every client gets later updates (${revision})`, async (t) => {
      const { cluster, peers, load } = await underLoad(t, revision)
      await cluster.redis.kill()
      await sleep(3_000)
      await cluster.redis.start()
      await grow(load, 300)
      await load.stop()
      assert.deepEqual(describeFailures(load), [])
      assert.deepEqual(await ranTwice(cluster, load), [])
      await everyoneHears(t, cluster, peers, revision)
    })

    test(`no call runs twice behind a failing proxy, and every client gets later updates (${revision})`, async (t) => {
      const { cluster, proxy, peers, load } = await underLoad(t, revision, { openProxy: openTcpProxy })
      proxy.cutAfterBytes = 3_000
      await grow(load, 500)
      proxy.cutAfterBytes = undefined
      await load.stop()
      await reportLoad(t, cluster, load)
      assert.ok(proxy.cuts > 0)
      assert.deepEqual(load.wrong, [])
      assert.deepEqual(await ranTwice(cluster, load), [])
      assert.deepEqual(await didNotRun(cluster, load), [])
      await everyoneHears(t, cluster, peers, revision)
    })

    test(`processes whose clocks differ by hours serve the same sessions (${revision})`, async (t) => {
      const clocksMs = [0, 3_600_000, -3_600_000, 86_400_000]
      const { cluster, peers, load } = await underLoad(t, revision, { clocksMs })
      await cluster.stop(cluster.nodes[0], 'SIGTERM')
      await cluster.restart(cluster.nodes[0])
      await grow(load, 300)
      await load.stop()
      assert.deepEqual(describeFailures(load), [])
      assert.deepEqual(await ranTwice(cluster, load), [])
      await everyoneHears(t, cluster, peers, revision)
    })

    test(`every client gets later updates although a process hangs (SIGSTOP) (${revision})`, async (t) => {
      const { cluster, peers, load } = await underLoad(t, revision, { options: { ...probed, keepAliveMs: 500 } })
      await load.stop()
      // By then every stream has carried comments.
      await sleep(3_000)
      const [hanging, ...others] = cluster.nodes
      hanging.child.kill('SIGSTOP')
      await everyoneHears(t, cluster, peers, revision, others)
    })
  }
})

/** Starts clients that call continuously. */
async function underLoad(t, revision, { options = probed, clocksMs, openProxy = openHttpProxy } = {}) {
  const cluster = await Cluster.start({ options, clocksMs })
  t.after(() => cluster.close())
  const proxy = await openProxy(cluster.nodes)
  t.after(() => proxy.close())
  const peers = await many(20, () => tenonPeer(proxy.url, revision))
  t.after(() => Promise.all(peers.map((peer) => peer.close())))
  await subscribeAll(peers)
  const load = new Load('fault', peers, ['act', 'stream'], 40)
  await grow(load, 200)
  return { cluster, proxy, peers, load }
}

async function connectAll(url, revision) {
  const peers = [
    ...(await many(clientCount, () => tenonPeer(url, revision))),
    ...(await many(4, () => officialV2Peer(url, revision))),
    ...(revision === '2025-11-25' ? await many(4, () => officialV1Peer(url)) : []),
  ]
  await subscribeAll(peers)
  return peers
}

function many(count, open) {
  return Promise.all(Array.from({ length: count }, open))
}

async function subscribeAll(peers) {
  await Promise.all(peers.flatMap((peer) => uris.map((uri) => peer.subscribe(uri))))
}

/** Stops and restarts one process after the other while calls continue. */
async function rollingRestart(cluster, load, count) {
  for (let at = 0; at < count; at++) {
    await grow(load, callCount / (restartCount + 1))
    const node = cluster.nodes[at % cluster.nodes.length]
    await cluster.stop(node, 'SIGTERM')
    await cluster.restart(node)
  }
}

async function grow(load, calls) {
  const goal = load.calls + calls
  assert.ok(await eventually(() => load.calls >= goal, 60_000), `only ${load.calls} of ${goal} calls ended in a minute`)
}

async function everyoneHears(t, cluster, peers, revision, nodes = cluster.nodes) {
  const streams = peers.length * (revision === '2026-07-28' ? uris.length : 1)
  const areAllBack = await eventually(async () => (await cluster.streams(nodes)) >= streams, 60_000)
  if (!areAllBack) t.diagnostic(`only ${await cluster.streams(nodes)} of ${streams} streams are open`)
  for (const peer of peers) peer.heard.clear()
  for (const [index, uri] of uris.entries()) nodes[index % nodes.length].child.send({ update: uri })
  const hasAll = (peer) => uris.every((uri) => peer.heard.has(uri))
  await eventually(() => peers.every(hasAll), 20_000)
  const deaf = peers.filter((peer) => !hasAll(peer)).map((peer) => `${peer.name} heard ${peer.heard.size}`)
  t.diagnostic(`${peers.length - deaf.length} of ${peers.length} clients heard every update`)
  assert.deepEqual(deaf, [])
}

async function reportLoad(t, cluster, load) {
  const ids = [...load.failed.keys()]
  const runs = await cluster.runs(ids)
  const neverRan = runs.filter((count) => count === 0).length
  t.diagnostic(`${load.calls} calls: ${load.done.length} done, ${ids.length} failed, of which ${neverRan} never ran`)
}

function describeFailures(load) {
  return [...load.failed].map(([id, error]) => `${id}: ${error.message}`).concat(load.wrong)
}

async function ranTwice(cluster, load) {
  const ids = [...load.done, ...load.failed.keys()]
  const runs = await cluster.runs(ids)
  return ids.filter((_, index) => runs[index] > 1)
}

/** Returns calls that were reported as done but never ran. */
async function didNotRun(cluster, load) {
  const runs = await cluster.runs(load.done)
  return load.done.filter((_, index) => runs[index] === 0)
}

function nodeThatBegins(cluster, id) {
  return new Promise((resolve) => {
    for (const node of cluster.nodes) {
      const listener = (message) => {
        if (message.began !== id) return
        node.child.off('message', listener)
        resolve(node)
      }
      node.child.on('message', listener)
    }
  })
}
