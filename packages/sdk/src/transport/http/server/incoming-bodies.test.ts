import { describe, expect, it } from 'vitest'
import { IncomingBodies, type IncomingBody } from './incoming-bodies.ts'

class FakeBody implements IncomingBody {
  isRefused = false
  readonly peer: string

  constructor(peer: string) {
    this.peer = peer
  }

  refuse(): void {
    this.isRefused = true
  }
}

describe('IncomingBodies', () => {
  it('refuses the oldest bodies of the address that sent the most bytes', () => {
    const bodies = new IncomingBodies({ maxIncomingBytes: 100 })
    const honest = new FakeBody('192.0.2.1')
    bodies.update(honest, 30)
    const greedy = Array.from({ length: 5 }, () => new FakeBody('192.0.2.2'))
    for (const body of greedy) bodies.update(body, 20)
    expect(honest.isRefused).toBe(false)
    expect(greedy.map(({ isRefused }) => isRefused)).toEqual([true, true, false, false, false])
  })

  it('counts each byte of a growing body once', () => {
    const bodies = new IncomingBodies({ maxIncomingBytes: 100 })
    const [first, second] = [new FakeBody('a'), new FakeBody('b')]
    for (let bytes = 10; bytes <= 60; bytes += 10) bodies.update(first, bytes)
    bodies.update(second, 40)
    expect(first.isRefused).toBe(false)
    bodies.update(second, 41)
    expect([first.isRefused, second.isRefused]).toEqual([true, false])
  })

  it('stops counting a body once it has arrived', () => {
    const bodies = new IncomingBodies({ maxIncomingBytes: 100 })
    for (let count = 0; count < 10; count++) {
      const body = new FakeBody('a')
      bodies.update(body, 90)
      bodies.delete(body)
      expect(body.isRefused).toBe(false)
    }
  })

  it('refuses a body that is larger than the limit by itself', () => {
    const bodies = new IncomingBodies({ maxIncomingBytes: 100 })
    const body = new FakeBody('a')
    bodies.update(body, 101)
    expect(body.isRefused).toBe(true)
  })
})
