import { isObject } from 'tenon/internal'
import type { Item } from '../store/lists.ts'
import { Safe } from '../text/safe.tsx'
import type { ItemSource } from './item-list.tsx'
import { JsonTree } from './result/json-tree.tsx'

/** The member that identifies an item of a list. */
export type IdKey = 'name' | 'uri' | 'uriTemplate'

/** What people call an item: its title, else its name or address. */
export function titleOf(item: Item, idKey: IdKey): string {
  const { title } = isObject(item.annotations) ? item.annotations : {}
  return textOf(item.title) ?? textOf(title) ?? textOf(item.name) ?? String(item[idKey] ?? '')
}

/** The head of an item: its title, its name or address, what it is for, and its definition. */
export function ItemHead({ item, idKey, badges = [] }: { item: Item; idKey: IdKey; badges?: readonly string[] }) {
  const title = titleOf(item, idKey)
  const id = String(item[idKey] ?? '')
  return (
    <header class="item-head">
      <div class="title-row">
        <h3 class={title === id ? 'mono' : undefined}>
          <Safe text={title} maxChars={300} />
        </h3>
        <Badges badges={badges} />
      </div>
      {title !== id && (
        <p class="address name dim">
          <Safe text={id} maxChars={2_000} />
        </p>
      )}
      {textOf(item.description) !== undefined && (
        <p class="description">
          <Safe text={String(item.description)} maxChars={10_000} />
        </p>
      )}
      <details class="definition">
        <summary class="dim">Definition</summary>
        <JsonTree value={item} openLevels={2} />
      </details>
    </header>
  )
}

/** A line for an item in a list: its title with the badges, then its name and description. */
export function ItemRow({ item, source }: { item: Item; source: ItemSource }) {
  const { idKey, badges } = source
  const title = titleOf(item, idKey)
  const id = String(item[idKey] ?? '')
  const description = textOf(item.description)
  return (
    <span class="item-row">
      <span class={title === id ? 'item-title mono' : 'item-title'}>
        <Safe text={title} maxChars={200} />
      </span>
      <Badges badges={badges?.(item) ?? []} />
      <span class="item-note">
        {title !== id && (
          <span class="mono">
            <Safe text={id} maxChars={200} />
          </span>
        )}
        {title !== id && description !== undefined && ' · '}
        {description !== undefined && <Safe text={description} maxChars={200} />}
      </span>
    </span>
  )
}

function Badges({ badges }: { badges: readonly string[] }) {
  return (
    <span class="item-badges">
      {badges.map((badge) => (
        <span class={`badge ${badge}`} key={badge}>
          {badge}
        </span>
      ))}
    </span>
  )
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
