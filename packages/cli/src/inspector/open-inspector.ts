import type { Output } from '../output.ts'
import { createInspector } from './inspector.ts'
import { listen } from './listen.ts'

/** Serves the inspector for one MCP endpoint, and prints the URL of its page on stderr. */
export async function openInspector(url: string, output: Output): Promise<{ close(): Promise<void> }> {
  const inspector = createInspector()
  inspector.connectTo({ id: 'dev', config: { url } })
  const served = await listen(inspector, 0)
  output.note(`Inspector: ${served.url}`)
  return {
    close: async () => {
      await served.close()
      await inspector.close()
    },
  }
}
