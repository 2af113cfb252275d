import { useMemo } from 'preact/hooks'
import type { ListName } from '../../../src/inspector/protocol.ts'
import { useApp } from '../state/app.ts'
import type { Item } from '../store/lists.ts'
import { count } from '../text/format.ts'
import { Safe } from '../text/safe.tsx'
import { ErrorView } from './operation/error-view.tsx'
import { VirtualList } from './virtual-list.tsx'

interface ItemListProps {
  readonly server: string
  readonly list: ListName
  readonly noun: string
  /** The member that identifies an item: `name`, `uri` or `uriTemplate`. */
  readonly idKey: string
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
        rowHeight={28}
        selected={index}
        onSelect={(next) => (selected.value = String(found[next]?.[idKey] ?? ''))}
        row={(at) => <ItemRow item={found[at]} idKey={idKey} badges={badges} />}
      />
    </div>
  )
}

/** The id of the item that is selected in a list. */
export function selectedItem(ui: ReturnType<typeof useApp>['ui'], server: string, list: ListName) {
  return ui.kept<string | undefined>(`${server} ${list} selected`, () => undefined)
}

function ItemRow(props: { item: Item | undefined; idKey: string; badges: (item: Item) => string[] }) {
  if (props.item === undefined) return null
  const { item, idKey } = props
  const note = textOf(item.description) ?? textOf(item.title) ?? textOf(item.name)
  return (
    <span class="item-row">
      <span class="item-name">
        <Safe text={String(item[idKey] ?? '')} maxChars={200} />
      </span>
      {props.badges(item).map((badge) => (
        <span class="badge" key={badge}>
          {badge}
        </span>
      ))}
      {note !== undefined && note !== item[idKey] && (
        <span class="item-note">
          <Safe text={note} maxChars={200} />
        </span>
      )}
    </span>
  )
}

function filter(items: readonly Item[], search: string, idKey: string): readonly Item[] {
  const wanted = search.trim().toLowerCase()
  if (wanted === '') return items
  const isMatch = (value: unknown) => typeof value === 'string' && value.toLowerCase().includes(wanted)
  return items.filter((item) => isMatch(item[idKey]) || isMatch(item.title) || isMatch(item.description))
}

/** Down leaves the search field for the list, and selects its first row. */
function goToList(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  if (event.key !== 'ArrowDown' && event.key !== 'Enter') return
  event.preventDefault()
  const list = event.currentTarget.closest('.item-list')?.querySelector<HTMLElement>('[role=listbox]')
  list?.focus()
  list?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }))
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
