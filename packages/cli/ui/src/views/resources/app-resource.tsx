import type { ComponentChildren } from 'preact'
import { LargeText } from '../result/large-text.tsx'

/** Draws a `ui://` resource in a sandbox. */
export type AppRenderer = (app: { readonly uri: string; readonly source: string }) => ComponentChildren

/**
 * The sandboxed view of MCP Apps. There is none yet: an app is code of the server and needs an origin of its own. Whoever
 * adds it sets this, and the page offers it beside the source.
 */
const renderApp: AppRenderer | undefined = undefined as AppRenderer | undefined

/** A `ui://` resource: an app of the server. It is shown as source and never runs in this page. */
export function AppResource({ uri, source }: { uri: string; source: string }) {
  return (
    <>
      <p class="dim">An MCP App. This is its source; it does not run here.</p>
      {renderApp?.({ uri, source })}
      <LargeText text={source} fileName="app.html" />
    </>
  )
}
