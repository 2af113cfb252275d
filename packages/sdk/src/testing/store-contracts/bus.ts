import type { Bus } from '../../store/ports.ts'
import { type Driver, type TestRunner, testsOf } from './suite.ts'

export interface BusDriver extends Driver<Bus> {
  /** Opens a second end of the same bus, as in another process. Default: the tests publish and listen at one end. */
  join?(bus: Bus): Bus | Promise<Bus>
}

/** The test suite that every bus must pass. */
export function busContract(runner: TestRunner, name: string, driver: BusDriver): void {
  const { expect } = runner
  const it = testsOf(runner, driver)
  /** Runs with an end to publish at and an end to listen at. */
  const withEnds = async (near: Bus, body: (far: Bus) => Promise<void>) => {
    const far = driver.join ? await driver.join(near) : near
    try {
      await body(far)
    } finally {
      if (far !== near) await driver.close?.(far)
    }
  }

  runner.describe(`${name}, a bus`, () => {
    it('delivers messages in order and unchanged', async (near) => {
      await withEnds(near, async (far) => {
        const ear = new Ear()
        await far.subscribe('topic', ear.listener)
        const messages = ['', 'ü\r\n "', ...Array.from({ length: 200 }, (_, index) => `${index}`)]
        for (const message of messages) await near.publish('topic', message)
        await ear.heardAtLeast(messages.length)
        expect(ear.heard).toEqual(messages)
      })
    })

    it('delivers messages to the publisher too', async (bus) => {
      const ear = new Ear()
      await bus.subscribe('topic', ear.listener)
      await bus.publish('topic', 'one')
      await ear.heardAtLeast(1)
      expect(ear.heard).toEqual(['one'])
    })

    it('notifies every listener, once for each of its subscriptions', async (near) => {
      await withEnds(near, async (far) => {
        const [once, twice] = [new Ear(), new Ear()]
        await far.subscribe('topic', once.listener)
        await far.subscribe('topic', twice.listener)
        await far.subscribe('topic', twice.listener)
        await near.publish('topic', 'one')
        await near.publish('topic', 'two')
        await Promise.all([once.heardAtLeast(2), twice.heardAtLeast(4)])
        expect(once.heard).toEqual(['one', 'two'])
        expect(twice.heard).toEqual(['one', 'one', 'two', 'two'])
      })
    })

    it('keeps topics apart', async (near) => {
      await withEnds(near, async (far) => {
        const topics = ['a', 'a/1', 'a/10', 'A', 'a*', '__proto__']
        const ears = topics.map(() => new Ear())
        for (const [index, topic] of topics.entries()) await far.subscribe(topic, ears[index]!.listener)
        for (const topic of [...topics, 'nobody']) await near.publish(topic, topic)
        for (const topic of topics) await near.publish(topic, 'end')
        await Promise.all(ears.map((ear) => ear.heardAtLeast(2)))
        expect(ears.map((ear) => ear.heard)).toEqual(topics.map((topic) => [topic, 'end']))
      })
    })

    it('notifies a listener no more after it unsubscribed, but still notifies others', async (near) => {
      await withEnds(near, async (far) => {
        const [leaving, staying] = [new Ear(), new Ear()]
        const stop = await far.subscribe('topic', leaving.listener)
        await far.subscribe('topic', staying.listener)
        await near.publish('topic', 'one')
        await Promise.all([leaving.heardAtLeast(1), staying.heardAtLeast(1)])
        stop()
        stop()
        await near.publish('topic', 'two')
        await staying.heardAtLeast(2)
        expect(leaving.heard).toEqual(['one'])
        expect(staying.heard).toEqual(['one', 'two'])
      })
    })

    it('can subscribe again to a topic that all listeners left', async (near) => {
      await withEnds(near, async (far) => {
        const stop = await far.subscribe('topic', new Ear().listener)
        stop()
        const ear = new Ear()
        await far.subscribe('topic', ear.listener)
        stop()
        await near.publish('topic', 'one')
        await ear.heardAtLeast(1)
        expect(ear.heard).toEqual(['one'])
      })
    })

    it('delivers messages in the same order to all listeners when one of them publishes', async (bus) => {
      const [early, late] = [new Ear(), new Ear()]
      await bus.subscribe('topic', early.listener)
      await bus.subscribe('topic', (message) => {
        if (message === 'one') void bus.publish('topic', 'two')
      })
      await bus.subscribe('topic', late.listener)
      await bus.publish('topic', 'one')
      await Promise.all([early.heardAtLeast(2), late.heardAtLeast(2)])
      expect(early.heard).toEqual(['one', 'two'])
      expect(late.heard).toEqual(['one', 'two'])
    })
  })
}

/** A listener that tests can wait for. */
export class Ear {
  readonly heard: string[] = []
  #wanted = 0
  #wake: (() => void) | undefined

  readonly listener = (message: string): void => {
    this.heard.push(message)
    if (this.heard.length >= this.#wanted) this.#wake?.()
  }

  heardAtLeast(count: number): Promise<void> {
    if (this.heard.length >= count) return Promise.resolve()
    this.#wanted = count
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}
