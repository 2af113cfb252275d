import { NodeProcess } from '../../sdk/test/kit/child-process.ts'
import { fixture } from './support.ts'

/** Starts the fixture `workshop.js` over HTTP, where tasks and changes outlive the command that caused them. */
export async function startWorkshop() {
  const server = new NodeProcess([fixture('workshop.js'), 'http'])
  const url = await server.until(() => server.stdout.includes('\n') && server.stdout.trim())
  return { url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}
