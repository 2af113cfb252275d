import { useSignal } from '@preact/signals'
import { useApp } from '../../state/app.ts'
import type { Item } from '../../store/lists.ts'
import { isObject } from '../../store/rpc.ts'
import { Safe } from '../../text/safe.tsx'
import { CompareDialog } from '../compare/compare-dialog.tsx'
import { JsonTree } from '../result/json-tree.tsx'
import { ArgumentsEditor, argumentsOf } from './arguments-editor.tsx'
import { badgesOf } from './badges.ts'
import { RunHistory } from './run-history.tsx'

/** A tool: its description, its arguments, its result. */
export function ToolView({ server, tool }: { server: string; tool: Item }) {
  const app = useApp()
  const name = String(tool.name)
  const args = argumentsOf(app.ui, server, tool)
  const asTask = useSignal(isObject(tool.execution) && tool.execution.taskSupport === 'required')
  const isComparing = useSignal(false)
  const request = () => ({ method: 'tools/call', params: { name, arguments: args.value } })
  const call = () => void app.operate(server, { ...request(), ...(asTask.value ? { asTask: true } : {}) })
  return (
    <article class="tool">
      <ToolHead tool={tool} />
      <ArgumentsEditor schema={tool.inputSchema} value={args} label={`Arguments of ${name}`} />
      <div class="call-row">
        <button type="button" class="primary" disabled={!app.isLive} onClick={call}>
          Call <kbd>{isMac ? '⌘↵' : 'Ctrl ↵'}</kbd>
        </button>
        {canRunTasks(app.store.servers.get(server)?.capabilities) && (
          <label class="check">
            <input
              type="checkbox"
              checked={asTask.value}
              onChange={(event) => (asTask.value = event.currentTarget.checked)}
            />
            as a task
          </label>
        )}
        <span class="space" />
        <button type="button" class="small quiet" disabled={!app.isLive} onClick={() => (isComparing.value = true)}>
          Compare revisions…
        </button>
      </div>
      {isComparing.value && (
        <CompareDialog server={server} request={request()} onClose={() => (isComparing.value = false)} />
      )}
      <RunHistory server={server} method="tools/call" isMine={(params) => params.name === name} />
    </article>
  )
}

function ToolHead({ tool }: { tool: Item }) {
  return (
    <header>
      <h3>
        <Safe text={String(tool.name)} maxChars={300} />
        {badgesOf(tool).map((badge) => (
          <span class="badge" key={badge}>
            {badge}
          </span>
        ))}
      </h3>
      {typeof tool.title === 'string' && (
        <p>
          <Safe text={tool.title} maxChars={300} />
        </p>
      )}
      {typeof tool.description === 'string' && (
        <p class="description">
          <Safe text={tool.description} maxChars={10_000} />
        </p>
      )}
      <details class="definition">
        <summary class="dim">Definition</summary>
        <JsonTree value={tool} openLevels={2} />
      </details>
    </header>
  )
}

const isMac = /Mac|iP(hone|ad)/.test(navigator.platform)

function canRunTasks(capabilities: Readonly<Record<string, unknown>> | undefined): boolean {
  const extensions = isObject(capabilities?.extensions) ? Object.keys(capabilities.extensions) : []
  return capabilities?.tasks !== undefined || extensions.some((name) => name.endsWith('/tasks'))
}
