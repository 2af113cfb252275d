import { join } from 'node:path'
import type { Tool } from 'tenon'
import { connect } from 'tenon/client'
import { CliError, exitCodes } from '../exit-codes.ts'
import type { Offer } from './manifest.ts'

/** Starts the server from the files of the bundle, so that a missing file or dependency is noticed here. */
export async function probeServer(folder: string, entry: string, timeoutMs: number): Promise<Offer> {
  const target = { command: process.execPath, args: [join(folder, entry)], cwd: folder }
  try {
    await using client = await connect(target, { connectTimeoutMs: timeoutMs, request: { timeoutMs } })
    const { info, capabilities } = client.server
    const tools: Tool[] = []
    if (capabilities.tools) for await (const tool of client.listTools()) tools.push(tool)
    return { title: info?.title, tools, hasPrompts: capabilities.prompts !== undefined && (await hasPrompts(client)) }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CliError('does-not-start', `The packed server does not work: ${reason}`, {
      hint: 'A bundle is for stdio servers. For an HTTP server, pass --no-bundle --remote <url>.',
      exitCode: exitCodes.checkFailed,
      cause,
    })
  }
}

async function hasPrompts(client: Awaited<ReturnType<typeof connect>>): Promise<boolean> {
  const { prompts } = await client.listPrompts()
  return prompts.length > 0
}
