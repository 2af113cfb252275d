import { useApp } from '../../state/app.ts'
import type { Item } from '../../store/lists.ts'
import { isObject } from '../../store/rpc.ts'
import { ItemList, selectedItem } from '../item-list.tsx'
import { ToolView } from './tool-view.tsx'

/** The tools of a server, and the one that is selected. */
export function ToolsView({ server }: { server: string }) {
  const { store, ui } = useApp()
  store.lists.changes.watch()
  const name = selectedItem(ui, server, 'tools').value
  const tool = name === undefined ? undefined : store.lists.find(server, 'tools', (item) => item.name === name)
  return (
    <div class="split">
      <ItemList server={server} list="tools" noun="tool" idKey="name" badges={badgesOf} />
      <div class="detail">
        {tool ? <ToolView key={name} server={server} tool={tool} /> : <p class="empty">Choose a tool.</p>}
      </div>
    </div>
  )
}

/** What the server claims about a tool. */
export function badgesOf(tool: Item): string[] {
  const hints = isObject(tool.annotations) ? tool.annotations : {}
  const badges = []
  if (hints.readOnlyHint === true) badges.push('read-only')
  if (hints.destructiveHint === true && hints.readOnlyHint !== true) badges.push('destructive')
  if (hints.idempotentHint === true) badges.push('idempotent')
  if (isObject(tool.execution) && tool.execution.taskSupport === 'required') badges.push('task')
  return badges
}
