import { useEffect, useMemo, useReducer } from 'preact/hooks'
import type { BoundedList } from '../store/bounded-list.ts'
import { Filtered } from '../store/filtered.ts'

/** How long one turn may filter before the page is drawn. */
const turnMs = 8

/** The items of a growing list that pass a test. A long list is filtered over several frames. */
export function useFiltered<Value>(source: BoundedList<Value>, isWanted: (value: Value) => boolean): Filtered<Value> {
  const [, redraw] = useReducer((turns: number, _: undefined) => turns + 1, 0)
  const filtered = useMemo(() => new Filtered(source, isWanted), [source, isWanted])
  filtered.advance(performance.now() + turnMs)
  useEffect(() => {
    if (filtered.isComplete) return
    const frame = requestAnimationFrame(() => redraw(undefined))
    return () => cancelAnimationFrame(frame)
  })
  return filtered
}
