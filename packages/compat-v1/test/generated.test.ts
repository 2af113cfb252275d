import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { generatedFiles } from '../scripts/generate-schemas.ts'

describe('generated schemas', () => {
  it.each(Object.entries(generatedFiles()))('%s is what the generator writes', (path, text) => {
    expect(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')).toBe(text)
  })
})
