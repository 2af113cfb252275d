import { useApp } from '../../state/app.ts'
import type { Item } from '../../store/lists.ts'
import { ItemList, type ItemSource, itemKey, selectedItem } from '../item-list.tsx'
import { ListDetail } from '../list-detail.tsx'
import { ResourceView } from './resource-view.tsx'
import { TemplateView } from './template-view.tsx'

const resources: ItemSource = { list: 'resources', noun: 'resource', idKey: 'uri' }
const templates: ItemSource = {
  list: 'resourceTemplates',
  noun: 'template',
  idKey: 'uriTemplate',
  badges: () => ['template'],
}
const sources: readonly [ItemSource, ItemSource] = [resources, templates]

/** The resources of a server and, below them, its templates. A resource is read when it is opened. */
export function ResourcesView({ server }: { server: string }) {
  const app = useApp()
  const { store, ui } = app
  store.lists.changes.watch()
  const selected = selectedItem(ui, server, 'resources').value
  const find = (source: ItemSource) =>
    store.lists.find(server, source.list, (item) => itemKey(source, item) === selected)
  const resource = find(resources)
  const template = resource ? undefined : find(templates)
  const readOnce = ({ uri }: Item, { list }: ItemSource) => {
    if (list !== 'resources' || !app.isLive) return
    // What was read before is still shown. Updates and the button read it again.
    const runs = store.operations.of(server, (run) => run.method === 'resources/read' && run.params.uri === uri)
    if (runs[0] === undefined || runs[0].ended?.error) {
      void app.operate(server, { method: 'resources/read', params: { uri: String(uri) } })
    }
  }
  return (
    <ListDetail
      server={server}
      noun="resources"
      list={
        <>
          <ItemList server={server} sources={sources} onOpen={readOnce} />
          <LiveSubscriptions server={server} />
        </>
      }
    >
      {resource ? (
        <ResourceView key={selected} server={server} resource={resource} />
      ) : template ? (
        <TemplateView key={selected} server={server} template={template} />
      ) : (
        <p class="empty">Choose a resource to read it, or a template to fill in.</p>
      )}
    </ListDetail>
  )
}

function LiveSubscriptions({ server }: { server: string }) {
  const { store } = useApp()
  store.subscriptions.changes.watch()
  const all = store.subscriptions.of(server)
  if (all.length === 0) return null
  const updates = all.reduce((sum, each) => sum + each.updates, 0)
  return (
    <p class="dim list-foot" role="status">
      {all.length} subscribed · {updates} updates
    </p>
  )
}
