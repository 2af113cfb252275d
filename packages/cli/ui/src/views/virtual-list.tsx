import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks'

interface VirtualListProps {
  readonly label: string
  readonly count: number
  readonly rowHeight: number
  /** Draws the row at an index. */
  readonly row: (index: number) => ComponentChildren
  /** -1 for none. */
  readonly selected: number
  readonly onSelect: (index: number) => void
  /** The selected row was clicked, or Enter was pressed. */
  readonly onOpen?: (isByKey: boolean) => void
  /** Stays at the end while rows are added, unless the user scrolled up. */
  readonly isFollowing?: boolean
}

/**
 * A list of any length, of which only the visible rows exist. Arrow keys, Page Up and Down, Home and End select; the list
 * itself has the focus, as the rows come and go.
 */
export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight, selected, onSelect } = props
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer(scroller, count, rowHeight)
  useFollowEnd(scroller, count, props.isFollowing === true)
  useSelectedInView(scroller, () => {
    if (selected >= 0) virtualizer.scrollToIndex(selected)
  })
  const select = (index: number) => {
    const next = Math.min(Math.max(index, 0), count - 1)
    if (next < 0) return
    onSelect(next)
    virtualizer.scrollToIndex(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && selected >= 0) props.onOpen?.(!event.ctrlKey && !event.metaKey)
    const pageRows = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1)
    const target = targetOf(event.key, selected, count, pageRows)
    if (target === undefined) return
    event.preventDefault()
    select(target)
  }
  const items = virtualizer.getVirtualItems()
  const isSelectedThere = items.some(({ index }) => index === selected)
  return (
    <div
      ref={scroller}
      class="virtual-list"
      role="listbox"
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={isSelectedThere ? `${id}-${selected}` : undefined}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" style={{ height: `${virtualizer.getTotalSize()}px`, position: 'relative' }}>
        {items.map(({ index, start }) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: The list handles the keys.
          // biome-ignore lint/a11y/useFocusableInteractive: The list has the focus and names its active row.
          <div
            key={index}
            id={`${id}-${index}`}
            class="virtual-row"
            role="option"
            aria-selected={index === selected}
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ height: `${rowHeight}px`, transform: `translateY(${start}px)` }}
            onClick={() => {
              onSelect(index)
              props.onOpen?.(false)
            }}
          >
            {props.row(index)}
          </div>
        ))}
      </div>
    </div>
  )
}

/** When the list becomes smaller, for example because a question appears above it, the selected row stays in view. */
function useSelectedInView(scroller: { current: HTMLDivElement | null }, show: () => void): void {
  const latest = useRef(show)
  latest.current = show
  useLayoutEffect(() => {
    if (!scroller.current) return
    let height = scroller.current.clientHeight
    const observer = new ResizeObserver(([entry]) => {
      const next = entry?.contentRect.height ?? height
      if (next < height) latest.current()
      height = next
    })
    observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [scroller])
}

function targetOf(key: string, selected: number, count: number, pageRows: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return selected + 1
    case 'ArrowUp':
      return selected === -1 ? count - 1 : selected - 1
    case 'PageDown':
      return selected + pageRows
    case 'PageUp':
      return selected - pageRows
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}

function useVirtualizer(scroller: { current: HTMLDivElement | null }, count: number, rowHeight: number) {
  const [, redraw] = useReducer((turns: number, _: undefined) => turns + 1, 0)
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    overscan: 8,
    onChange: () => redraw(undefined),
  }
  const virtualizer = useMemo(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options), [])
  virtualizer.setOptions(options)
  useLayoutEffect(() => virtualizer._didMount(), [])
  useLayoutEffect(() => virtualizer._willUpdate())
  return virtualizer
}

function useFollowEnd(scroller: { current: HTMLDivElement | null }, count: number, isFollowing: boolean): void {
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element || !isFollowing) return
    const note = () => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40
    }
    element.addEventListener('scroll', note, { passive: true })
    return () => element.removeEventListener('scroll', note)
  }, [scroller, isFollowing])
  useLayoutEffect(() => {
    if (isFollowing && isAtEnd.current && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight
  }, [count, isFollowing])
}
