#!/usr/bin/env node
import { connect } from 'tenon/client'

const usage = 'tenon list <command> [args...]   what a stdio server offers: tenon list node server.js'

const [verb, command, ...args] = process.argv.slice(2)
if (verb === '--help' || verb === '-h') {
  console.log(usage)
  process.exit(0)
}
if (verb !== 'list' || command === undefined) {
  console.error(usage)
  process.exit(2)
}

try {
  await using client = await connect({ command, args })
  const { info, capabilities } = client.server
  console.log(`${info?.name ?? 'A server'} ${info?.version ?? ''} speaks ${client.revision}`)
  if (capabilities.tools) for await (const tool of client.listTools()) print('tool', tool.name, tool.description)
  if (capabilities.prompts)
    for await (const prompt of client.listPrompts()) print('prompt', prompt.name, prompt.description)
  if (capabilities.resources)
    for await (const item of client.listResourceTemplates()) print('template', item.uriTemplate, item.description)
  if (capabilities.resources)
    for await (const item of client.listResources()) print('resource', item.uri, item.description)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

function print(kind: string, name: string, description = ''): void {
  console.log(`${kind.padEnd(9)} ${name.padEnd(24)} ${description.split('\n')[0]}`.trimEnd())
}
