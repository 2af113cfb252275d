import { useApp } from '../../state/app.ts'
import { ItemList, type ItemSource, itemKey, selectedItem } from '../item-list.tsx'
import { ListDetail } from '../list-detail.tsx'
import { badgesOf } from './badges.ts'
import { ToolView } from './tool-view.tsx'

const tools: ItemSource = { list: 'tools', noun: 'tool', idKey: 'name', badges: badgesOf }
const sources: readonly [ItemSource] = [tools]

/** The tools of a server, and the one that is selected. */
export function ToolsView({ server }: { server: string }) {
  const { store, ui } = useApp()
  store.lists.changes.watch()
  const key = selectedItem(ui, server, 'tools').value
  const tool = store.lists.find(server, 'tools', (item) => itemKey(tools, item) === key)
  return (
    <ListDetail server={server} noun="tools" list={<ItemList server={server} sources={sources} />}>
      {tool ? <ToolView key={key} server={server} tool={tool} /> : <p class="empty">Choose a tool.</p>}
    </ListDetail>
  )
}
