import type { IncomingMessage, ServerResponse } from 'node:http'
import { McpError } from '../errors.ts'

/** The web inspector, as `createInspector` of `@tenon/cli/inspector` creates it. */
export interface HttpInspector {
  /** The path of the page with the secret of this start: `/#secret=...` */
  readonly path: string
  /** Responds to a request, or returns false if it belongs to neither the page nor its API. */
  handle(request: IncomingMessage, response: ServerResponse): boolean
  /** Adds a server to the page, and connects to it when somebody opens the page. */
  connectOnOpen(request: { target: string }): void
  close(): Promise<void>
}

const inspectorModule = '@tenon/cli/inspector'

/**
 * Loads the inspector.
 * @throws McpError if `@tenon/cli` is not installed
 */
export async function loadInspector(): Promise<HttpInspector> {
  const { createInspector } = await importInspector()
  return createInspector()
}

/**
 * Whoever has the secret of the page can start programs, so it is served to this machine only.
 * @throws TypeError if the server can be reached from other machines, or if the page would hide the endpoint
 */
export function checkInspector(host: string, path: string): void {
  if (!/^(localhost|::1|127(\.\d{1,3}){3})$/i.test(host)) {
    throw new TypeError(
      `The inspector is served to this machine only, but host is '${host}'. Remove \`inspector\`, or set host to '127.0.0.1'.`,
    )
  }
  if (path === '/') throw new TypeError("The inspector is the page at '/'. Choose another path for the MCP endpoint.")
}

interface InspectorModule {
  createInspector(): HttpInspector
}

/** Found and loaded by its path, so that no bundler follows an import of the package, which the library does not depend on. */
async function importInspector(): Promise<InspectorModule> {
  const { createRequire } = process.getBuiltinModule('node:module')
  const { pathToFileURL } = process.getBuiltinModule('node:url')
  let cause: unknown
  // Some package managers show a package only its own dependencies. The application has it then.
  for (const base of [import.meta.url, `${process.cwd()}/index.js`]) {
    try {
      const path = createRequire(base).resolve(inspectorModule)
      return await import(pathToFileURL(path).href)
    } catch (error) {
      if (!isMissing(error)) throw error
      cause = error
    }
  }
  throw new McpError(
    'invalid-argument',
    'serveHttp({ inspector: true }) needs the package @tenon/cli. Install it: npm install --save-dev @tenon/cli',
    { cause },
  )
}

function isMissing(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}
