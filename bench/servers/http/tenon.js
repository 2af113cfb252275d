import { McpServer, serveHttp } from 'tenon/server'
import { limits, serverInfo } from '../../definitions.js'
import { zodTools } from '../../zod-tools.js'
import { mode, obey } from './stand.js'

/** Above the default, for the echo of 10 MB; the official packages get a parsed body, which they do not limit. */
const maxBodyBytes = 64 * 1024 * 1024

const server = new McpServer(serverInfo, { limits })
zodTools()(server)
/** All clients of a benchmark are anonymous and have the same address. */
const perAddress = { maxSessionsPerAddress: 10_000, maxStreamsPerAddress: 10_000 }
const { url } = await serveHttp(server, { port: 0, sessions: mode !== 'stateless', maxBodyBytes, ...perAddress })
await obey(url)
