import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'tenon/client'
import { environmentOf } from './programs.js'
import { RawClient } from './raw-client.js'

/** The revisions with a handshake. */
export const handshakeRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']

const initialize = (protocolVersion) => ({
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'recorder', version: '1.0.0' } },
})
const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']

/**
 * Starts a program, has the same conversation as always with it, and returns every answer by request.
 *
 * @param {string} modules The `node_modules` to start it from.
 * @param {string} revision The one that the client asks for.
 */
export function record(program, modules, revision) {
  return inEmptyFolder((folder) => recordHandshake(program, modules, folder, revision))
}

/** Does the same on 2026-07-28, and returns the names of the tools and the content of each tool result. */
export function recordStateless(program, modules) {
  return inEmptyFolder(async (folder) => {
    const [entry, ...args] = commandOf(program, modules, folder)
    const target = { command: process.execPath, args: [entry, ...args], env: environmentOf(folder) }
    const client = await connect(target, { revision: '2026-07-28' })
    try {
      const tools = await client
        .listTools()
        .all()
        .catch(() => undefined)
      const contents = {}
      for (const request of program.requests.filter(({ method }) => method === 'tools/call')) {
        const { method, params } = place(request, folder)
        const result = await client.request(method, params).catch(() => ({}))
        contents[JSON.stringify(request)] = unplace(result.content, folder)
      }
      return { tools: tools?.map(({ name }) => name), contents }
    } finally {
      await client.close()
    }
  })
}

async function recordHandshake(program, modules, folder, revision) {
  const client = new RawClient(commandOf(program, modules, folder), environmentOf(folder))
  const answers = {}
  const ask = async (request) => {
    answers[JSON.stringify(request)] = unplace(await client.request(place(request, folder)), folder)
  }
  try {
    await ask(initialize(revision))
    client.notify('notifications/initialized')
    await ask({ method: 'ping' })
    for (const method of lists) await ask({ method })
    await ask({ method: 'tools/call', params: { name: 'no-such-tool', arguments: {} } })
    for (const request of program.requests) await ask(request)
    return answers
  } finally {
    await client.close()
  }
}

function commandOf(program, modules, folder) {
  return [join(modules, program.entry), ...(program.args?.(folder) ?? [])]
}

async function inEmptyFolder(work) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tenon-program-')))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Puts the folder of this run into a request. */
function place(request, folder) {
  return JSON.parse(JSON.stringify(request).replaceAll('FOLDER', folder))
}

/** Takes it out of an answer, so that answers of two runs can be compared. */
function unplace(answer, folder) {
  return answer && JSON.parse(JSON.stringify(answer).replaceAll(folder, 'FOLDER'))
}
