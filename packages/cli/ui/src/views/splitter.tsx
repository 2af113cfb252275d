import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { maxSize, minSize, setSize, sizes } from '../state/sizes.ts'

interface SplitterProps {
  /** The part that it resizes, as in `sizeStyle`. */
  readonly name: string
  readonly label: string
  /** The part comes before or after the splitter. Both have the same container. */
  readonly part: 'before' | 'after'
  readonly axis?: 'x' | 'y'
}

const stepPercent = 2

/** A border that can be dragged. Arrow keys move it, Enter and a double click restore it. */
export function Splitter({ name, label, part, axis = 'x' }: SplitterProps) {
  const ref = useRef<HTMLDivElement>(null)
  const percent = usePercent(ref, part, axis)
  const drag = (event: PointerEvent) => {
    const container = ref.current?.parentElement?.getBoundingClientRect()
    if (!container || !ref.current?.hasPointerCapture(event.pointerId)) return
    const [start, length, at] =
      axis === 'x' ? [container.left, container.width, event.clientX] : [container.top, container.height, event.clientY]
    setSize(name, ((part === 'before' ? at - start : start + length - at) / length) * 100)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // A key that is held down comes faster than the page is measured.
    const target = targetOf(event.key, sizes.value[name] ?? percent, part, axis)
    if (target === undefined && event.key !== 'Enter') return
    event.preventDefault()
    setSize(name, target)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: A rule has neither a value nor the focus.
    <div
      ref={ref}
      class={`splitter ${axis} of-${name}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={axis === 'x' ? 'vertical' : 'horizontal'}
      aria-valuemin={minSize}
      aria-valuemax={maxSize}
      aria-valuenow={Math.round(percent)}
      title="Drag to resize. Double click to restore."
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      onDblClick={() => setSize(name, undefined)}
      onKeyDown={onKeyDown}
    />
  )
}

function targetOf(key: string, percent: number, part: string, axis: string): number | undefined {
  const forward = part === 'before' ? 1 : -1
  if (key === (axis === 'x' ? 'ArrowRight' : 'ArrowDown')) return percent + stepPercent * forward
  if (key === (axis === 'x' ? 'ArrowLeft' : 'ArrowUp')) return percent - stepPercent * forward
  if (key === 'Home') return minSize
  return key === 'End' ? maxSize : undefined
}

/** The size of the part that is on the screen, in percent of its container. */
function usePercent(ref: { current: HTMLElement | null }, part: 'before' | 'after', axis: 'x' | 'y'): number {
  const [percent, setPercent] = useState(50)
  useLayoutEffect(() => {
    const sized = part === 'before' ? ref.current?.previousElementSibling : ref.current?.nextElementSibling
    const container = ref.current?.parentElement
    if (!sized || !container) return
    const lengthOf = (element: Element) => element.getBoundingClientRect()[axis === 'x' ? 'width' : 'height']
    const measure = () => setPercent((lengthOf(sized) / (lengthOf(container) || 1)) * 100)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(sized)
    observer.observe(container)
    return () => observer.disconnect()
  }, [ref, part, axis])
  return percent
}
