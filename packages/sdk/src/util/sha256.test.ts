import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { sha256 } from './sha256.ts'

it('computes the same digests as Node.js, for texts of every length around a block', () => {
  for (let length = 0; length < 200; length++) {
    const text = 'aé\n'.repeat(100).slice(0, length)
    expect(Buffer.from(sha256(text)).toString('hex')).toBe(createHash('sha256').update(text).digest('hex'))
  }
})
