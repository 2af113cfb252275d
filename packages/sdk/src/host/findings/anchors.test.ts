import { describe, expect, it } from 'vitest'
import { Anchors } from './anchors.ts'

const anchors = new Anchors([
  { text: 'secret', value: 'secret' },
  { text: 'token', value: 'token', isWord: true },
])

function scan(text: string): string[] {
  const found: string[] = []
  anchors.scan(text, (value, index) => {
    found.push(`${value} ${index}`)
    return undefined
  })
  return found
}

describe('anchors', () => {
  // Long texts are scanned in blocks of 16,384 characters.
  for (const filler of ['.', 'é', '語']) {
    it(`are found at every position around the border of two blocks, in a text of "${filler}"`, () => {
      for (let index = 16_370; index <= 16_390; index++) {
        const text = `${filler.repeat(index)}SeCrEt${filler.repeat(400)}`
        expect(scan(text)).toEqual([`secret ${index}`])
      }
    })
  }

  it('are found in both blocks if only one of them is ASCII', () => {
    const text = `${'a '.repeat(8_000)}secret${'語'.repeat(1_000)} token ${'b '.repeat(10_000)}secret`
    expect(scan(text)).toEqual(['secret 16000', 'token 17007', 'secret 37013'])
  })

  it('that are words are not found in longer words, also across blocks', () => {
    expect(scan(`${' '.repeat(16_383)}atoken tokens token`)).toEqual(['token 16397'])
  })

  it('are not visited after the visitor returned false', () => {
    let visits = 0
    anchors.scan('secret '.repeat(10_000), () => ++visits < 3)
    expect(visits).toBe(3)
  })
})
