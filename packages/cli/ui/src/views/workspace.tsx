import { useApp } from '../state/app.ts'
import { type Tab, tabs } from '../state/ui-state.ts'
import { CompareView } from './compare/compare-view.tsx'
import { LoginView, needsLogin } from './login-view.tsx'
import { LogsView } from './logs-view.tsx'
import { Overview } from './overview/overview.tsx'
import { PromptsView } from './prompts-view.tsx'
import { QuestionCards } from './questions/question-cards.tsx'
import { ResourcesView } from './resources/resources-view.tsx'
import { TasksBoard } from './tasks-board.tsx'
import { ToolsView } from './tools/tools-view.tsx'

const views: Record<Tab, (props: { server: string }) => preact.JSX.Element> = {
  overview: Overview,
  tools: ToolsView,
  resources: ResourcesView,
  prompts: PromptsView,
  tasks: TasksBoard,
  logs: LogsView,
}

/** The middle column: what a server offers. Open questions come first, whatever is shown. */
export function Workspace() {
  const { store, ui, isLive } = useApp()
  store.servers.changes.watch()
  store.auth.changes.watch()
  const server = store.servers.get(ui.server.value)
  const comparison = ui.comparison.value
  const View = views[ui.tab.value]
  return (
    <main class="column workspace" aria-label="Workspace">
      <QuestionCards />
      {server === undefined ? (
        <div class="empty">
          <p>{isLive ? 'Connect a server to see its tools, resources and prompts.' : 'Choose a server.'}</p>
          {isLive && (
            <button type="button" class="primary" onClick={() => (ui.connectDraft.value = {})}>
              Connect a server
            </button>
          )}
        </div>
      ) : comparison !== undefined ? (
        <CompareView comparison={comparison} />
      ) : needsLogin(server, store.auth) ? (
        <LoginView key={server.server} server={server} />
      ) : server.state === 'failed' && server.capabilities === undefined ? (
        <Overview server={server.server} />
      ) : (
        <>
          <Tabs server={server.server} />
          <View key={server.server} server={server.server} />
        </>
      )}
    </main>
  )
}

function Tabs({ server }: { server: string }) {
  const { ui } = useApp()
  const counts = useCounts(server)
  return (
    <nav class="tabs" aria-label="Views">
      {tabs.map((tab) => (
        <button
          type="button"
          key={tab}
          aria-current={ui.tab.value === tab ? 'page' : undefined}
          onClick={() => (ui.tab.value = tab)}
        >
          {tab}
          {counts[tab] ? <span class="count">{counts[tab]?.toLocaleString('en-US')}</span> : null}
        </button>
      ))}
    </nav>
  )
}

function useCounts(server: string): Partial<Record<Tab, number>> {
  const { store } = useApp()
  store.lists.changes.watch()
  store.tasks.changes.watch()
  return {
    tools: store.lists.get(server, 'tools').total,
    resources: store.lists.get(server, 'resources').total + store.lists.get(server, 'resourceTemplates').total,
    prompts: store.lists.get(server, 'prompts').total,
    tasks: store.tasks.of(server).length,
  }
}
