import { Fragment } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ListName } from '../../../src/inspector/protocol.ts'
import { useApp } from '../state/app.ts'
import type { Item, ServerList } from '../store/lists.ts'
import { count } from '../text/format.ts'
import { type IdKey, ItemRow, titleOf } from './item-head.tsx'
import { focusDetail, itemOpen } from './list-detail.tsx'
import { ErrorView } from './operation/error-view.tsx'
import { VirtualList } from './virtual-list.tsx'

/** A list of a server that is shown, alone or above others. */
export interface ItemSource {
  readonly list: ListName
  readonly noun: string
  readonly idKey: IdKey
  readonly badges?: (item: Item) => readonly string[]
}

interface ItemListProps {
  readonly server: string
  /** The first names the whole. Do not create it while drawing. */
  readonly sources: readonly [ItemSource, ...ItemSource[]]
  /** The user opened an item: by a click or Enter, not by moving the selection. */
  readonly onOpen?: (item: Item, source: ItemSource) => void
}

interface Row {
  readonly item: Item
  readonly source: ItemSource
}

/** A searchable list of what a server offers. */
export function ItemList({ server, sources, onOpen }: ItemListProps) {
  const app = useApp()
  const { store, ui } = app
  store.lists.changes.watch()
  const [{ list, noun }] = sources
  const lists = sources.map((source) => store.lists.get(server, source.list))
  const search = ui.kept(`${server} ${list} search`, () => '')
  const selected = selectedItem(ui, server, list)
  const items = lists.map((each) => each.items)
  const found = useMemo(
    () => sources.flatMap((source, at) => filter(items[at] ?? [], search.value, source)),
    [...items, search.value, sources],
  )
  const isOpen = itemOpen(ui, server)
  const isSelected = ({ item, source }: Row) => itemKey(source, item) === selected.value
  const index = found.findIndex(isSelected)
  return (
    <div class="item-list">
      <div class="list-head">
        <input
          type="search"
          placeholder={`Search ${noun}s  /`}
          aria-label={`Search ${noun}s`}
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
          onKeyDown={goToList}
        />
        <span class="dim" role="status">
          {countsOf(sources, lists, search.value.trim() === '' ? undefined : found.length).map((text, at) => (
            <Fragment key={text}>
              {at > 0 && ', '}
              <span>{text}</span>
            </Fragment>
          ))}
        </span>
        <button
          type="button"
          class="small quiet"
          aria-label={`Read the ${noun}s again`}
          title="Read the list again"
          disabled={!app.isLive}
          onClick={() => {
            for (const { list } of sources) void app.operate(server, { method: 'list', params: { list } })
          }}
        >
          ↻
        </button>
      </div>
      {lists.map(({ error }, at) => error && <ErrorView key={sources[at]?.list} error={error} />)}
      <VirtualList
        label={`${noun}s`}
        count={found.length}
        rowHeight={46}
        selected={index}
        onSelect={(next) => {
          const row = found[next]
          selected.value = row && itemKey(row.source, row.item)
        }}
        onOpen={(isByKey) => {
          isOpen.value = true
          if (isByKey) focusDetail()
          const row = found.find(isSelected)
          if (row) onOpen?.(row.item, row.source)
        }}
        row={(at) => found[at] && <ItemRow {...found[at]} />}
      />
    </div>
  )
}

/** The key of the item that is selected in a list, or in several of which this is the first. */
export function selectedItem(ui: ReturnType<typeof useApp>['ui'], server: string, list: ListName) {
  return ui.kept<string | undefined>(`${server} ${list} selected`, () => undefined)
}

/** Identifies an item among all sources: a template may have the text of a URI. */
export function itemKey({ list, idKey }: ItemSource, item: Item): string {
  return `${list} ${String(item[idKey] ?? '')}`
}

/** `3 resources, 1 template`, and of several lists in a search `2 of 4`. An empty list is mentioned if it is the first. */
function countsOf(sources: readonly ItemSource[], lists: readonly ServerList[], found: number | undefined): string[] {
  const counts = sources
    .map(({ noun }, at) => ({ noun, total: lists[at]?.total ?? 0 }))
    .filter(({ total }, at) => at === 0 || total > 0)
  const all = counts.map(({ noun, total }) => count(total, noun))
  if (found === undefined) return all
  return [`${found} of ${all.length === 1 ? all[0] : counts.reduce((sum, { total }) => sum + total, 0)}`]
}

function filter(items: readonly Item[], search: string, source: ItemSource): Row[] {
  const { idKey } = source
  const wanted = search.trim().toLowerCase()
  const isMatch = (value: unknown) => typeof value === 'string' && value.toLowerCase().includes(wanted)
  const isFound = (item: Item) =>
    wanted === '' || isMatch(item[idKey]) || isMatch(titleOf(item, idKey)) || isMatch(item.description)
  return items.filter(isFound).map((item) => ({ item, source }))
}

/** Down leaves the search field for the list, and selects its first row. */
function goToList(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  if (event.key !== 'ArrowDown' && event.key !== 'Enter') return
  event.preventDefault()
  const list = event.currentTarget.closest('.item-list')?.querySelector<HTMLElement>('[role=listbox]')
  list?.focus()
  list?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }))
}
