import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { BoundedList } from '../store/bounded-list.ts'
import { Filtered } from '../store/filtered.ts'

/** How long one turn may filter before the page answers to the user. */
const turnMs = 10
/** How often the page is drawn while it filters: drawing takes longer than filtering. */
const drawMs = 150

/** The items of a growing list that pass a test. A long list is filtered over several frames. */
export function useFiltered<Value>(source: BoundedList<Value>, isWanted: (value: Value) => boolean): Filtered<Value> {
  const draws = useSignal(0)
  // Subscribes this component: the list changes in place.
  draws.value
  const filtered = useMemo(() => new Filtered(source, isWanted), [source, isWanted])
  filtered.advance(performance.now() + turnMs)
  useEffect(() => {
    if (filtered.isComplete) return
    const drawAt = performance.now() + drawMs
    let frame = requestAnimationFrame(function advance() {
      filtered.advance(performance.now() + turnMs)
      if (filtered.isComplete || performance.now() >= drawAt) draws.value++
      else frame = requestAnimationFrame(advance)
    })
    return () => cancelAnimationFrame(frame)
  })
  return filtered
}
