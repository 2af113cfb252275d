import { useSignal } from '@preact/signals'
import { isObject } from 'tenon/internal'
import { useApp } from '../../state/app.ts'
import type { Item } from '../../store/lists.ts'
import { CompareDialog } from '../compare/compare-dialog.tsx'
import { ItemHead } from '../item-head.tsx'
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
      <ItemHead item={tool} idKey="name" badges={badgesOf(tool)} />
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

const isMac = /Mac|iP(hone|ad)/.test(navigator.platform)

function canRunTasks(capabilities: Readonly<Record<string, unknown>> | undefined): boolean {
  const extensions = isObject(capabilities?.extensions) ? Object.keys(capabilities.extensions) : []
  return capabilities?.tasks !== undefined || extensions.some((name) => name.endsWith('/tasks'))
}
