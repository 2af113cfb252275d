import { useApp } from '../../state/app.ts'
import { ItemList, selectedItem } from '../item-list.tsx'
import { ListDetail } from '../list-detail.tsx'
import { badgesOf } from './badges.ts'
import { ToolView } from './tool-view.tsx'

/** The tools of a server, and the one that is selected. */
export function ToolsView({ server }: { server: string }) {
  const { store, ui } = useApp()
  store.lists.changes.watch()
  const name = selectedItem(ui, server, 'tools').value
  const tool = name === undefined ? undefined : store.lists.find(server, 'tools', (item) => item.name === name)
  return (
    <ListDetail
      server={server}
      noun="tools"
      list={<ItemList server={server} list="tools" noun="tool" idKey="name" badges={badgesOf} />}
    >
      {tool ? <ToolView key={name} server={server} tool={tool} /> : <p class="empty">Choose a tool.</p>}
    </ListDetail>
  )
}
