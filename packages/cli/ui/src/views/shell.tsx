import { useEffect } from 'preact/hooks'
import { useApp } from '../state/app.ts'
import { sizeStyle } from '../state/sizes.ts'
import { panes } from '../state/ui-state.ts'
import { ConnectDialog } from './connect-dialog.tsx'
import { KeysDialog } from './keys-dialog.tsx'
import { Notices } from './notices.tsx'
import { ServerColumn } from './server-column.tsx'
import { listenForShortcuts } from './shortcuts.ts'
import { Splitter } from './splitter.tsx'
import { TopBar } from './top-bar.tsx'
import { WireColumn } from './wire/wire-column.tsx'
import { Workspace } from './workspace.tsx'

/** Three columns on a wide screen; one at a time on a narrow one. */
export function Shell(props: { onOpen: (file: File) => void; onClose: () => void }) {
  const app = useApp()
  useEffect(() => listenForShortcuts(app), [app])
  useFirstServer()
  const pane = app.ui.pane.value
  return (
    <div class="shell" data-pane={pane} style={sizeStyle('servers', 'wire')}>
      <TopBar onOpen={props.onOpen} onClose={props.onClose} />
      <PaneSwitch />
      <ServerColumn />
      <Splitter name="servers" label="Size of the servers" part="before" />
      <Workspace />
      <Splitter name="wire" label="Size of the wire" part="after" />
      <WireColumn />
      {app.ui.connectDraft.value && (
        <ConnectDialog draft={app.ui.connectDraft.value} onClose={() => (app.ui.connectDraft.value = undefined)} />
      )}
      {app.ui.isShowingKeys.value && <KeysDialog onClose={() => (app.ui.isShowingKeys.value = false)} />}
      <Notices />
    </div>
  )
}

/** Chooses the column on a narrow screen. */
function PaneSwitch() {
  const { ui, store } = useApp()
  store.questions.changes.watch()
  const questions = store.questions.open().length
  return (
    <nav class="pane-switch" aria-label="Columns">
      {panes.map((pane) => (
        <button
          type="button"
          key={pane}
          aria-current={ui.pane.value === pane ? 'page' : undefined}
          onClick={() => (ui.pane.value = pane)}
        >
          {pane[0]?.toUpperCase() + pane.slice(1)}
          {pane === 'workspace' && questions > 0 && <span class="count alert">{questions}</span>}
        </button>
      ))}
    </nav>
  )
}

/** Selects a server while none is selected, and another one when it was removed. */
function useFirstServer() {
  const { store, ui } = useApp()
  const version = store.servers.changes.watch()
  useEffect(() => {
    if (store.servers.get(ui.server.value) === undefined) ui.server.value = store.servers.all()[0]?.server
  }, [version])
}
