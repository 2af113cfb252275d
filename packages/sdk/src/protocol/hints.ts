import { isObject } from '../util/objects.ts'
import { warnOnce } from '../util/warn.ts'
import type { Annotations, CacheHints } from './types.ts'

/** What is wrong with caching hints, or undefined (2026-07-28 caching). */
export function cacheHintsProblem({ ttlMs, cacheScope }: CacheHints): string | undefined {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0))
    return 'ttlMs must be a whole number of at least 0'
  if (cacheScope !== undefined && cacheScope !== 'public' && cacheScope !== 'private') {
    return "cacheScope must be 'public' or 'private'"
  }
  return undefined
}

/** What is wrong with annotations, or undefined (2025-06-18 resources, annotations). */
export function annotationsProblem({ audience, priority, lastModified }: Annotations): string | undefined {
  const isAudience = (value: unknown) => value === 'user' || value === 'assistant'
  if (audience !== undefined && !(Array.isArray(audience) && audience.every(isAudience))) {
    return "annotations.audience must be a list of 'user' and 'assistant'"
  }
  if (priority !== undefined && !(priority >= 0 && priority <= 1))
    return 'annotations.priority must lie between 0 and 1'
  if (lastModified !== undefined && !isIsoDate(lastModified)) return 'annotations.lastModified must be an ISO 8601 date'
  return undefined
}

/** What is wrong with icons, or undefined (2025-11-25 basic, icons). */
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

function isIsoDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d)?)?$/.test(text) && !Number.isNaN(Date.parse(text))
}
