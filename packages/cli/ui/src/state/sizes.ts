import { effect, signal } from '@preact/signals'

const key = 'tenon-inspector-sizes'

/** Sizes that the user changed, in percent of the container, by the name of the part. They outlive the page. */
export const sizes = signal<Readonly<Record<string, number>>>(stored())

effect(() => localStorage.setItem(key, JSON.stringify(sizes.value)))

/** Sets the size of a part within limits; undefined restores the one of the style sheet. */
export function setSize(name: string, percent: number | undefined): void {
  const { [name]: _before, ...rest } = sizes.value
  sizes.value = percent === undefined ? rest : { ...rest, [name]: Math.min(Math.max(percent, minSize), maxSize) }
}

export const minSize = 10
export const maxSize = 80

/** The style of a container: `--list-size: 40%` for the name `list`. */
export function sizeStyle(...names: string[]): Record<string, string> {
  const set = names.filter((name) => sizes.value[name] !== undefined)
  return Object.fromEntries(set.map((name) => [`--${name}-size`, `${sizes.value[name]}%`]))
}

function stored(): Record<string, number> {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? '{}')
    return Object.fromEntries(Object.entries(found ?? {}).filter(([, size]) => typeof size === 'number'))
  } catch {
    return {}
  }
}
