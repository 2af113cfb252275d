import { useMemo } from 'preact/hooks'
import type { ListName } from '../../../src/inspector/protocol.ts'
import { useApp } from '../state/app.ts'
import type { Item } from '../store/lists.ts'
import { count } from '../text/format.ts'
import { type IdKey, ItemRow, titleOf } from './item-head.tsx'
import { focusDetail, itemOpen } from './list-detail.tsx'
import { ErrorView } from './operation/error-view.tsx'
import { VirtualList } from './virtual-list.tsx'

interface ItemListProps {
  readonly server: string
  readonly list: ListName
  readonly noun: string
  readonly idKey: IdKey
  readonly badges?: (item: Item) => string[]
}

/** A searchable list of what a server offers. */
export function ItemList({ server, list, noun, idKey, badges = () => [] }: ItemListProps) {
  const app = useApp()
  const { store, ui } = app
  store.lists.changes.watch()
  const { items, total, error } = store.lists.get(server, list)
  const search = ui.kept(`${server} ${list} search`, () => '')
  const selected = selectedItem(ui, server, list)
  const found = useMemo(() => filter(items, search.value, idKey), [items, search.value, idKey])
  const isOpen = itemOpen(ui, server)
  const index = found.findIndex((item) => item[idKey] === selected.value)
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
          {found.length === items.length ? count(total, noun) : `${found.length} of ${count(total, noun)}`}
        </span>
        <button
          type="button"
          class="small quiet"
          aria-label={`Read the ${noun}s again`}
          title="Read the list again"
          disabled={!app.isLive}
          onClick={() => app.operate(server, { method: 'list', params: { list } })}
        >
          ↻
        </button>
      </div>
      {error && <ErrorView error={error} />}
      <VirtualList
        label={`${noun}s`}
        count={found.length}
        rowHeight={46}
        selected={index}
        onSelect={(next) => (selected.value = String(found[next]?.[idKey] ?? ''))}
        onOpen={(isByKey) => {
          isOpen.value = true
          if (isByKey) focusDetail()
        }}
        row={(at) => <ItemRow item={found[at]} idKey={idKey} badges={badges} />}
      />
    </div>
  )
}

/** The id of the item that is selected in a list. */
export function selectedItem(ui: ReturnType<typeof useApp>['ui'], server: string, list: ListName) {
  return ui.kept<string | undefined>(`${server} ${list} selected`, () => undefined)
}

function filter(items: readonly Item[], search: string, idKey: IdKey): readonly Item[] {
  const wanted = search.trim().toLowerCase()
  if (wanted === '') return items
  const isMatch = (value: unknown) => typeof value === 'string' && value.toLowerCase().includes(wanted)
  return items.filter((item) => isMatch(item[idKey]) || isMatch(titleOf(item, idKey)) || isMatch(item.description))
}

/** Down leaves the search field for the list, and selects its first row. */
function goToList(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  if (event.key !== 'ArrowDown' && event.key !== 'Enter') return
  event.preventDefault()
  const list = event.currentTarget.closest('.item-list')?.querySelector<HTMLElement>('[role=listbox]')
  list?.focus()
  list?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }))
}
