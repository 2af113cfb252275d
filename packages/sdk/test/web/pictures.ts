import { deflateSync } from 'node:zlib'

const ascii = (text: string) => Buffer.from(text, 'latin1')

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function chunk(type: string, data: Uint8Array): Buffer {
  // The checksum is not verified.
  return Buffer.concat([uint32(data.length), ascii(type), data, Buffer.alloc(4)])
}

/** Creates a PNG of this size, animated if it has frames. */
export function png(width: number, height: number, { frames = 0, controls = 0 } = {}): Buffer {
  const header = Buffer.concat([uint32(width), uint32(height), Buffer.from([8, 6, 0, 0, 0])])
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    ...(frames ? [chunk('acTL', Buffer.concat([uint32(frames), uint32(0)]))] : []),
    ...Array.from({ length: controls }, () => chunk('fcTL', Buffer.alloc(26))),
    chunk('IDAT', deflateSync(Buffer.alloc(16))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

export function jpeg(width: number, height: number): Buffer {
  const frame = Buffer.alloc(9)
  frame.writeUInt16BE(17, 0)
  frame[2] = 8
  frame.writeUInt16BE(height, 3)
  frame.writeUInt16BE(width, 5)
  const app0 = Buffer.concat([Buffer.from([0xff, 0xff, 0xe0, 0, 16]), ascii('JFIF\0'), Buffer.alloc(9)])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), app0, Buffer.from([0xff, 0xc2]), frame, Buffer.alloc(10)])
}

function riff(chunks: Buffer): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt32LE(chunks.length + 4)
  return Buffer.concat([ascii('RIFF'), size, ascii('WEBP'), chunks])
}

function riffChunk(type: string, data: Buffer): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt32LE(data.length)
  return Buffer.concat([ascii(type), size, data, Buffer.alloc(data.length % 2)])
}

export const webp = {
  lossy(width: number, height: number): Buffer {
    const data = Buffer.alloc(20)
    data.set([0, 0, 0, 0x9d, 0x01, 0x2a])
    data.writeUInt16LE(width, 6)
    data.writeUInt16LE(height, 8)
    return riff(riffChunk('VP8 ', data))
  },
  lossless(width: number, height: number): Buffer {
    const data = Buffer.alloc(10)
    data[0] = 0x2f
    data.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 1)
    return riff(riffChunk('VP8L', data))
  },
  extended(width: number, height: number, frames = 0): Buffer {
    const data = Buffer.alloc(10)
    data.writeUIntLE(width - 1, 4, 3)
    data.writeUIntLE(height - 1, 7, 3)
    const each = Array.from({ length: frames }, () => riffChunk('ANMF', Buffer.alloc(17)))
    return riff(Buffer.concat([riffChunk('VP8X', data), ...each]))
  },
}

export const svg = (inside = '<path d="M0 0h1v1z" fill="url(#a)"/>', before = '') =>
  Buffer.from(`${before}<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">${inside}</svg>`)
