export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/svg+xml'

export interface ImageFacts {
  readonly mimeType: ImageType
  /** 0 for SVG. */
  readonly width: number
  readonly height: number
  readonly frames: number
}

/**
 * Detects the type, the size and the number of frames of an image from its bytes, without decompressing it. Undefined
 * if it has none of the four types, or is damaged.
 */
export function readImage(bytes: Uint8Array): ImageFacts | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    const found = readPng(view) ?? readJpeg(view) ?? readWebp(view) ?? readSvg(bytes)
    const isEmpty = found?.mimeType !== 'image/svg+xml' && !(found && found.width > 0 && found.height > 0)
    return isEmpty ? undefined : found
  } catch (error) {
    // The file ends inside its header.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** PNG specification, 5 and 11. `acTL` contains the number of frames of an animated PNG. */
function readPng(view: DataView): ImageFacts | undefined {
  if (view.byteLength < 8 || view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a) return undefined
  if (textAt(view, 12) !== 'IHDR') return undefined
  let frames = 1
  let controls = 0
  for (let at = 8; at + 12 <= view.byteLength; at += 12 + view.getUint32(at)) {
    const type = textAt(view, at + 4)
    // The number may be wrong, so frames are counted as well.
    if (type === 'acTL') frames = Math.max(frames, view.getUint32(at + 8))
    else if (type === 'fcTL') controls++
    if (type === 'IEND') break
  }
  return {
    mimeType: 'image/png',
    width: view.getUint32(16),
    height: view.getUint32(20),
    frames: Math.max(frames, controls),
  }
}

/** ITU T.81, B.1: skips segments until the first frame. */
function readJpeg(view: DataView): ImageFacts | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8 || view.getUint8(2) !== 0xff) return undefined
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    // Fill bytes, and markers without a segment.
    if (marker === 0xff) at += 1
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) at += 2
    else if (isFrame(marker)) {
      return { mimeType: 'image/jpeg', height: view.getUint16(at + 5), width: view.getUint16(at + 7), frames: 1 }
    } else if (marker === 0xd9 || marker === 0xda) return undefined
    else at += 2 + view.getUint16(at + 2)
  }
}

function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

/** RFC 9649. In the extended format, no frame is larger than the canvas. */
function readWebp(view: DataView): ImageFacts | undefined {
  if (view.byteLength < 16 || textAt(view, 0) !== 'RIFF' || textAt(view, 8) !== 'WEBP') return undefined
  const size = webpSize(view, textAt(view, 12))
  if (!size) return undefined
  let frames = 0
  for (let at = 12; at + 8 <= view.byteLength; at += 8 + padded(view.getUint32(at + 4, true))) {
    if (textAt(view, at) === 'ANMF') frames++
  }
  return { mimeType: 'image/webp', ...size, frames: Math.max(1, frames) }
}

function webpSize(view: DataView, format: string): { width: number; height: number } | undefined {
  if (format === 'VP8X') return { width: 1 + uint24(view, 24), height: 1 + uint24(view, 27) }
  if (format === 'VP8L') {
    const bits = view.getUint32(21, true)
    return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff) }
  }
  if (format !== 'VP8 ') return undefined
  return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
}

function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
}

function padded(length: number): number {
  return length + (length % 2)
}

/** Looks for the root element, which comments and declarations may precede. `svgProblem` checks those. */
function readSvg(bytes: Uint8Array): ImageFacts | undefined {
  const beginning = new TextDecoder().decode(bytes.subarray(0, 4_096))
  const isSvg = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*|<!DOCTYPE[^>]*>\s*)*<(?:[\w-]+:)?svg[\s/>]/i.test(beginning)
  return isSvg ? { mimeType: 'image/svg+xml', width: 0, height: 0, frames: 1 } : undefined
}

function textAt(view: DataView, at: number): string {
  return String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3))
}
