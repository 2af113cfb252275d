import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { LargeText } from '../result/large-text.tsx'

/** Draws a `ui://` resource in a sandbox. */
export type AppRenderer = (app: { readonly uri: string; readonly source: string }) => ComponentChildren

/**
 * The seam for a sandboxed view of MCP Apps. There is none yet: an app is code of the server and needs an origin of its own.
 * A provider above the views makes the page show it beside the source.
 */
export const AppRendererContext = createContext<AppRenderer | undefined>(undefined)

/** A `ui://` resource: an app of the server. It is shown as source and never runs in this page. */
export function AppResource({ uri, source }: { uri: string; source: string }) {
  const render = useContext(AppRendererContext)
  return (
    <>
      <p class="dim">An MCP App. This is its source; it does not run here.</p>
      {render?.({ uri, source })}
      <LargeText text={source} fileName="app.html" />
    </>
  )
}
