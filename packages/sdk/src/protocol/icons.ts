import { isObject } from '../util/objects.ts'
import { warnOnce } from '../util/warn.ts'

/** An icon to show next to a name. Since 2025-11-25. */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string
  mimeType?: string | undefined
  /** For example `48x48`, or `any` for a scalable image. */
  sizes?: string[] | undefined
  /** The color scheme that the icon is designed for. */
  theme?: 'light' | 'dark' | undefined
}

/** Describes what is wrong with a list of icons, or returns undefined (2025-11-25 basic, icons). */
export function iconsProblem(icons: unknown): string | undefined {
  if (icons === undefined) return undefined
  if (!Array.isArray(icons)) return 'icons must be a list'
  for (const [index, icon] of icons.entries()) {
    const problem = iconProblem(icon)
    if (problem !== undefined) return `icons[${index}]${problem}`
  }
  return undefined
}

function iconProblem(icon: unknown): string | undefined {
  if (!isObject(icon)) return " must be an object such as { src: 'https://example.com/icon.png' }"
  const { src, mimeType, sizes, theme } = icon
  if (typeof src !== 'string' || !URL.canParse(src)) return '.src must be a URL'
  const { protocol } = new URL(src)
  if (protocol !== 'https:' && protocol !== 'http:' && protocol !== 'data:') {
    return `.src must be an https: or data: URL, not ${protocol}`
  }
  if (protocol === 'http:') warnOnce(`icon ${src}`, `Icon ${src}: clients load icons from https: and data: URLs only.`)
  if (mimeType !== undefined && typeof mimeType !== 'string') return '.mimeType must be a string'
  const isSize = (size: unknown) => typeof size === 'string' && /^(\d+x\d+|any)$/.test(size)
  if (sizes !== undefined && !(Array.isArray(sizes) && sizes.every(isSize))) {
    return ".sizes must be a list such as ['48x48'] or ['any']"
  }
  return theme === undefined || theme === 'light' || theme === 'dark' ? undefined : ".theme must be 'light' or 'dark'"
}
