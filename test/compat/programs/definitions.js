// Prints the definitions of the programs as JSON, for `node scripts/measure-findings.js --definitions`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { environmentOf, programs } from './programs.js'
import { RawClient } from './raw-client.js'

const modules = fileURLToPath(new URL('node_modules', import.meta.url))
const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'reader', version: '1.0.0' } }

const servers = []
for (const [id, { entry, args }] of Object.entries(programs)) {
  const folder = mkdtempSync(join(tmpdir(), 'definitions-'))
  const client = new RawClient([join(modules, entry), ...(args?.(folder) ?? [])], environmentOf(folder))
  try {
    servers.push({ id, definitions: await read(client) })
  } catch (error) {
    console.error(id, error.message.split('\n', 1)[0])
  } finally {
    await client.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
console.log(JSON.stringify(servers))

async function read(client) {
  const { result } = await client.request({ method: 'initialize', params: initialize })
  client.notify('notifications/initialized')
  const list = async (method, member) => (await client.request({ method })).result?.[member] ?? []
  return {
    identity: result.serverInfo,
    instructions: result.instructions,
    tools: await list('tools/list', 'tools'),
    prompts: await list('prompts/list', 'prompts'),
    resources: await list('resources/list', 'resources'),
    resourceTemplates: await list('resources/templates/list', 'resourceTemplates'),
  }
}
