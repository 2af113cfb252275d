#!/usr/bin/env node
import { connect } from 'tenon/client'

const usage = `tenon list <command> [args...]   what a stdio server offers`

const [verb, command, ...args] = process.argv.slice(2)
if (verb !== 'list' || command === undefined) {
  console.error(usage)
  process.exit(2)
}

try {
  await using client = await connect({ command, args })
  const { info, capabilities } = client.server
  console.log(`${info?.name ?? 'A server'} ${info?.version ?? ''} speaks ${client.revision}`)
  if (capabilities.tools) for await (const tool of client.listTools()) console.log(`tool      ${tool.name}`)
  if (capabilities.prompts) for await (const prompt of client.listPrompts()) console.log(`prompt    ${prompt.name}`)
  if (capabilities.resources) for await (const item of client.listResources()) console.log(`resource  ${item.uri}`)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
