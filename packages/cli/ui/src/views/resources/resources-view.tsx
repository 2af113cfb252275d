import { useApp } from '../../state/app.ts'
import { ItemList, selectedItem } from '../item-list.tsx'
import { ListDetail } from '../list-detail.tsx'
import { ResourceView } from './resource-view.tsx'
import { TemplateView } from './template-view.tsx'

/** The resources and templates of a server. */
export function ResourcesView({ server }: { server: string }) {
  const { store, ui } = useApp()
  store.lists.changes.watch()
  const kind = ui.kept<'resources' | 'resourceTemplates'>(`${server} resource kind`, () => 'resources')
  const selected = selectedItem(ui, server, kind.value).value
  const idKey = kind.value === 'resources' ? 'uri' : 'uriTemplate'
  const item = store.lists.find(server, kind.value, (each) => each[idKey] === selected)
  return (
    <ListDetail
      server={server}
      noun="resources"
      list={
        <>
          <nav class="segments" aria-label="Kind of resource">
            <Segment label="Resources" isOn={kind.value === 'resources'} onChoose={() => (kind.value = 'resources')} />
            <Segment
              label={`Templates ${store.lists.get(server, 'resourceTemplates').total || ''}`}
              isOn={kind.value === 'resourceTemplates'}
              onChoose={() => (kind.value = 'resourceTemplates')}
            />
          </nav>
          {kind.value === 'resources' ? (
            <ItemList key="resources" server={server} list="resources" noun="resource" idKey="uri" />
          ) : (
            <ItemList key="templates" server={server} list="resourceTemplates" noun="template" idKey="uriTemplate" />
          )}
          <LiveSubscriptions server={server} />
        </>
      }
    >
      {item === undefined ? (
        <p class="empty">Choose a resource or a template.</p>
      ) : kind.value === 'resources' ? (
        <ResourceView key={selected} server={server} resource={item} />
      ) : (
        <TemplateView key={selected} server={server} template={item} />
      )}
    </ListDetail>
  )
}

function Segment(props: { label: string; isOn: boolean; onChoose: () => void }) {
  return (
    <button type="button" aria-current={props.isOn ? 'page' : undefined} onClick={props.onChoose}>
      {props.label}
    </button>
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
