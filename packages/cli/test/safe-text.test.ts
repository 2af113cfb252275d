import { expect, it } from 'vitest'
import { safeText } from '../src/safe-text.ts'

it('keeps the selector of an emoji, and shows every other one as a code point', () => {
  expect(safeText('⚠\ufe0f Careful')).toBe('⚠\ufe0f Careful')
  expect(safeText('a\ufe0f')).toBe('a<U+FE0F>')
  expect(safeText('⚠\ufe0f\ufe0f')).toBe('⚠\ufe0f<U+FE0F>')
})
