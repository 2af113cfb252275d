import { describe, expect, it } from 'vitest'
import type { Caller } from '../protocol/caller.ts'
import type { Call } from './call.ts'
import { SubscribedUris } from './subscribed-uris.ts'

const by = (principal: string) => ({ stream: undefined, link: { transport: { principal } } }) as unknown as Call
const caller = {} as Caller
const limits = { perCaller: { maxUris: 2, maxCharacters: 20 }, total: { maxUris: 3, maxCharacters: 25 } }

describe('the limits on subscriptions', () => {
  it('count the resources of one caller over all its streams, and make room when one is removed', () => {
    const uris = new SubscribedUris(limits)
    const [one, two] = [uris.createSet(by('ann'), caller), uris.createSet(by('ann'), caller)]
    one.add('a:1')
    two.add('a:1')
    expect(() => one.add('a:2')).toThrow('One caller can subscribe to 2 resources')
    expect(() => two.add('a:2')).toThrow('Subscription limit reached')
    expect([one.values(), uris.size]).toEqual([['a:1'], 2])
    two.delete('a:1')
    two.delete('never added')
    one.add('a:2')
    expect([one.values(), uris.size]).toEqual([['a:1', 'a:2'], 2])
  })

  it('count the resources of all callers, and make room when a stream ends', () => {
    const uris = new SubscribedUris(limits)
    const [ann, bob] = [uris.createSet(by('ann'), caller), uris.createSet(by('bob'), caller)]
    for (const uri of ['a:1', 'a:2']) ann.add(uri)
    bob.add('b:1')
    expect(() => bob.add('b:2')).toThrow('All callers together can subscribe to 3 resources')
    ann.clear()
    bob.add('b:2')
    expect([uris.size, bob.has('b:2'), ann.size]).toEqual([2, true, 0])
  })

  it('count the characters of the URIs, up to the limit and not beyond', () => {
    const uris = new SubscribedUris(limits)
    const [ann, bob] = [uris.createSet(by('ann'), caller), uris.createSet(by('bob'), caller)]
    expect(() => ann.add('a'.repeat(21))).toThrow('20 characters')
    ann.add('a'.repeat(20))
    expect(() => bob.add('b'.repeat(6))).toThrow('25 characters')
    bob.add('b'.repeat(5))
    ann.clear()
    bob.add('c'.repeat(15))
    expect(uris.size).toBe(2)
  })

  it('do not apply to subscriptions that another process has accepted', () => {
    const uris = new SubscribedUris(limits)
    const set = uris.createSet(by('ann'), caller)
    for (const uri of ['a:1', 'a:2', 'a:3', 'a:4']) set.add(uri, true)
    expect([set.size, uris.size]).toEqual([4, 4])
    expect(() => set.add('a:5')).toThrow('Subscription limit reached')
  })
})
