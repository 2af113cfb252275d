import { HttpError, McpError } from '../errors.ts'
import type { Icon } from '../protocol/icons.ts'
import { openFetch, type WebOptions } from './fetch.ts'
import { type ImageType, readImage } from './image.ts'
import { svgProblem } from './svg.ts'

export interface LoadIconOptions extends WebOptions {
  /** The URL of the server that the icon belongs to. Icons from other origins are rejected. */
  serverUrl?: string | URL | undefined
  /** Other origins that icons may come from, such as `https://cdn.example.com`. Default: none. */
  trustedOrigins?: readonly string[] | undefined
  /**
   * Allows SVG. Files with scripts, event handlers, external styles or references to other documents are always
   * rejected. Show it in an `<img>`, never inline. Default false.
   */
  allowSvg?: boolean | undefined
  /** The maximum size of the file. Default 262,144. */
  maxBytes?: number | undefined
  /** The maximum width and height in pixels. Default 1,024. */
  maxDimension?: number | undefined
  /** The maximum number of frames of an animation. Default 60. */
  maxFrames?: number | undefined
}

/** An image that is safe to pass to a decoder. */
export interface LoadedIcon {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The type, as detected from the content. */
  readonly mimeType: ImageType
  /** In pixels; undefined for SVG. */
  readonly width: number | undefined
  readonly height: number | undefined
}

/**
 * Loads an icon of a server. Both its metadata and its bytes are untrusted, so only `data:` URLs and `https:` URLs of
 * the server's origin or a trusted one are loaded, without credentials and without redirects to other origins. The type
 * is detected from the content (PNG, JPEG, WebP, and SVG if allowed), and bytes, dimensions and frames are limited.
 *
 * @throws McpError with the code `invalid-response` if the icon violates one of these rules.
 *
 * @example
 * const [icon] = tool.icons ?? []
 * if (icon) show(await loadIcon(icon, { serverUrl: 'https://example.com/mcp' }))
 */
export async function loadIcon(icon: Icon, options: LoadIconOptions = {}): Promise<LoadedIcon> {
  const { maxBytes = 262_144, maxDimension = 1_024, maxFrames = 60, allowSvg = false } = options
  const src: unknown = icon?.src
  if (typeof src !== 'string' || !URL.canParse(src)) throw rejected('its src is not a URL')
  const url = new URL(src)
  const { bytes, declared } =
    url.protocol === 'data:' ? readDataUrl(url.href, maxBytes) : await download(url, maxBytes, options)
  const image = readImage(bytes)
  if (!image) throw rejected('it is not a PNG, JPEG, WebP or SVG image, or it is damaged')
  for (const type of [icon.mimeType, declared]) checkType(type, image.mimeType)
  if (image.mimeType === 'image/svg+xml') {
    const problem = allowSvg ? svgProblem(bytes) : 'SVG is not allowed (allowSvg)'
    if (problem !== undefined) throw rejected(problem)
    return { bytes, mimeType: image.mimeType, width: undefined, height: undefined }
  }
  const { width, height, frames, mimeType } = image
  if (width > maxDimension || height > maxDimension) {
    throw rejected(`it has ${width} × ${height} pixels, more than ${maxDimension} on a side (maxDimension)`)
  }
  if (frames > maxFrames) throw rejected(`it has ${frames} frames, more than ${maxFrames} (maxFrames)`)
  return { bytes, mimeType, width, height }
}

interface Found {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The type that the response or the URL declares. */
  readonly declared: string | undefined
}

async function download(url: URL, maxBytes: number, options: LoadIconOptions): Promise<Found> {
  checkOrigin(url, options)
  const fetch = await openFetch(options, { maxBytes, otherOrigins: 'refuse' })
  const { signal = null } = options
  try {
    return await readResponse(await fetch(url, { headers: { accept: 'image/*' }, signal }))
  } catch (error) {
    // Not `instanceof GuardError`, whose module is loaded only when it is needed.
    const isRedirect = error instanceof HttpError && 'rule' in error && error.rule === 'redirect'
    throw isRedirect ? rejected(error.message) : error
  }
}

async function readResponse(response: Response): Promise<Found> {
  if (response.status !== 200) throw rejected(`the server answered HTTP ${response.status}`)
  const declared = response.headers.get('content-type') ?? undefined
  return { bytes: new Uint8Array(await response.arrayBuffer()), declared }
}

/** 2026-07-28 basic, icons: the origin of an icon is that of its server, or one that the user trusts. */
function checkOrigin(url: URL, { serverUrl, trustedOrigins = [] }: LoadIconOptions): void {
  if (url.protocol !== 'https:') throw rejected(`icons are loaded by https: or data: only, not by ${url.protocol}`)
  const own = serverUrl === undefined ? undefined : new URL(serverUrl).origin
  const trusted = trustedOrigins.map((origin) => new URL(origin).origin)
  if (url.origin === own || trusted.includes(url.origin)) return
  const where = own === undefined ? 'no serverUrl was given' : `the server is at ${own}`
  throw rejected(`it is at ${url.origin}, but ${where}; allow the origin with trustedOrigins if you trust it`)
}

/** Decodes a `data:` URL. Not every `fetch` can, and some would not limit the size. */
function readDataUrl(href: string, maxBytes: number): Found {
  const comma = href.indexOf(',')
  if (comma < 0) throw rejected('its data: URL contains no data')
  const [declared = '', ...parameters] = href.slice('data:'.length, comma).split(';')
  const data = href.slice(comma + 1)
  // One byte takes up to three characters.
  if (data.length > maxBytes * 3) throw tooLarge(maxBytes)
  const isBase64 = parameters.at(-1)?.trim().toLowerCase() === 'base64'
  const bytes = decode(data, isBase64)
  if (bytes.length > maxBytes) throw tooLarge(maxBytes)
  return { bytes, declared: declared.trim() || undefined }
}

function decode(data: string, isBase64: boolean): Uint8Array<ArrayBuffer> {
  try {
    if (!isBase64) return new TextEncoder().encode(decodeURIComponent(data))
    return Uint8Array.from(atob(decodeURIComponent(data)), (char) => char.charCodeAt(0))
  } catch {
    throw rejected('its data: URL cannot be decoded')
  }
}

/** A wrong type may be an attempt to have the image handled by another program. */
function checkType(type: string | undefined, actual: ImageType): void {
  if (type === undefined) return
  const declared = String(type).split(';')[0]!.trim().toLowerCase()
  if ((declared === 'image/jpg' ? 'image/jpeg' : declared) === actual) return
  throw rejected(`its declared type is ${JSON.stringify(declared.slice(0, 100))}, but it is ${actual}`)
}

function tooLarge(maxBytes: number): McpError {
  return rejected(`it is larger than ${maxBytes} bytes (maxBytes)`)
}

function rejected(why: string): McpError {
  return new McpError('invalid-response', `The icon was rejected: ${why}`)
}
