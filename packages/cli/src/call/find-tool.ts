import type { Tool } from 'tenon'
import type { Client } from 'tenon/client'
import { notFound } from '../not-found.ts'

/** Finds a tool by its name. */
export async function findTool(client: Client, name: string): Promise<Tool> {
  const names: string[] = []
  for await (const tool of client.listTools()) {
    if (tool.name === name) return tool
    names.push(tool.name)
    if (names.length >= maxTools) break
  }
  throw notFound('tool', name, names)
}

/** A server could send pages for ever. */
const maxTools = 100_000
