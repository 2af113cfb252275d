import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, createHost } from 'tenon/host'
import { serveHttp } from 'tenon/server'
import { limits } from '../../definitions.js'
import { mode, obey } from '../http/stand.js'
import { stdioServer } from './stdio-server.js'

// The gateway of Tenon as `tenon gateway` runs it: consent, checks of arguments and results, data flow between servers.
// BENCH_UPSTREAM is the URL of the server behind it; without it, the server runs over stdio.

const url = process.env.BENCH_UPSTREAM
/** Anonymous callers of 2026-07-28 share the process, as they do behind the other gateways. */
const server = url === undefined ? { ...stdioServer, shared: mode === '2026' } : { url }
/** A rule without a kind does not cover connections. */
const policy = [{ kind: 'connect', decide: 'allow' }, { decide: 'allow' }]
const host = await createHost({ servers: { bench: server }, policy, audit: await auditFile() })
const perAddress = { maxSessionsPerAddress: 10_000, maxStreamsPerAddress: 10_000 }
const http = await serveHttp(createGateway(host, { server: { limits } }), { port: 0, ...perAddress })
await obey(http.url)

async function auditFile() {
  if (process.env.BENCH_AUDIT !== '1') return undefined
  const folder = await mkdtemp(join(tmpdir(), 'tenon-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  return join(folder, 'audit.jsonl')
}
