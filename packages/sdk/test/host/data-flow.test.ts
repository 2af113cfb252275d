import { describe, expect, it } from 'vitest'
import { DataFlows } from '../../src/host/data-flow.ts'
import { FlowMemory } from '../../src/host/flow-memory.ts'
import type { Tool } from '../../src/protocol/tools.ts'

const secretPlan = 'The board of Acme meets on Tuesday at the Grand Hotel to sell the harbor.'
const fromMail = [{ from: 'mail', path: 'body', excerpt: expect.any(String) }]

function textResult(...texts: string[]) {
  return { content: texts.map((text) => ({ type: 'text', text })) }
}

function afterMail(text = secretPlan): DataFlows {
  const flows = new DataFlows()
  flows.note('mail', textResult(`Dear Ada, ${text} Yours, Bob`))
  return flows
}

describe('data that goes from one server to another', () => {
  it('is found with its source, its place and its beginning', () => {
    const flows = afterMail().find({ to: 'x', items: [{ text: `I read that ${secretPlan}` }] }, 'web')
    expect(flows).toEqual([
      { from: 'mail', path: 'items[0].text', excerpt: expect.stringMatching(/^ ?the board of acme meets/) },
    ])
  })

  it.each([
    ['in another case and with other white space', secretPlan.toUpperCase().replaceAll(' ', '\n  ')],
    ['of 24 characters', secretPlan.slice(10, 34)],
    ['of 24 characters at the end', secretPlan.slice(-24)],
    ['in the middle of other text', `Note: ${secretPlan.slice(13, 50)} (end)`],
    ['in base64', btoa(secretPlan)],
    ['in base64url within a URL', `https://evil.example/?d=${Buffer.from(secretPlan).toString('base64url')}`],
    ['in hexadecimal', Buffer.from(secretPlan).toString('hex')],
    ['in percent-encoding', encodeURIComponent(secretPlan)],
    ['in the encoding of forms', `q=${secretPlan.replaceAll(' ', '+')}`],
    ['in base64 of percent-encoding', btoa(encodeURIComponent(secretPlan))],
    ['with JSON escapes', JSON.stringify(secretPlan.replaceAll(' ', '\n'))],
    ['after a letter', `x${secretPlan}`],
  ])('is found %s', (_, body) => {
    expect(afterMail().find({ body }, 'web')).toEqual(fromMail)
  })

  it('is found at every position and length from 24 characters', () => {
    for (let start = 0; start + 24 <= secretPlan.length; start++) {
      expect(
        afterMail().find({ body: secretPlan.slice(start, start + 24).padEnd(30, '.') }, 'web'),
        `from ${start}`,
      ).toHaveLength(
        // The host does not count a space at either end.
        secretPlan.slice(start, start + 24).trim().length === 24 ? 1 : 0,
      )
    }
  })

  it('is found if it is split over several arguments', () => {
    const found = afterMail().find({ a: secretPlan.slice(0, 30), b: secretPlan.slice(30, 60), c: 'short' }, 'web')
    expect(found.map(({ path }) => path)).toEqual(['a', 'b'])
  })

  it.each([0, 65_520, 65_536, 300_000])('is found after %i other characters', (count) => {
    const filler = 'Nothing to see here, move along. '.repeat(10_000).slice(0, count)
    expect(afterMail().find({ body: `${filler}${secretPlan}` }, 'web')).toEqual(fromMail)
  })

  it('is found in names of members', () => {
    expect(afterMail().find({ [secretPlan]: 1 }, 'web')).toMatchObject([{ from: 'mail' }])
  })

  it('is found if it came from structured content, resources and prompts', () => {
    for (const result of [
      { content: [], structuredContent: { rows: [{ note: secretPlan }] } },
      { contents: [{ uri: 'file:///plan', text: secretPlan }] },
      { messages: [{ role: 'user', content: { type: 'text', text: secretPlan } }] },
    ]) {
      const flows = new DataFlows()
      flows.note('mail', result)
      expect(flows.find({ body: secretPlan }, 'web')).toEqual(fromMail)
    }
  })

  it('is found every time, also if it was sent to its own server in between', () => {
    const flows = afterMail()
    expect(flows.find({ body: secretPlan }, 'web')).toEqual(fromMail)
    expect(flows.find({ body: secretPlan }, 'mail')).toEqual([])
    expect(flows.find({ body: secretPlan }, 'web')).toEqual(fromMail)
  })

  it('is found if the user wrote a few of its words before', () => {
    const flows = afterMail()
    flows.find({ query: 'meets on Tuesday, and at the Grand Hotel' }, 'search')
    expect(flows.find({ body: secretPlan.slice(13, 50) }, 'web')).toEqual(fromMail)
  })

  it('is found for every server that returned it', () => {
    const flows = afterMail()
    flows.note('files', textResult(secretPlan))
    expect(flows.find({ body: secretPlan }, 'web').map(({ from }) => from)).toEqual(['mail', 'files'])
  })
})

describe('a short word that looks like a secret', () => {
  const flowsAfter = (result: object) => {
    const flows = new DataFlows()
    flows.note('mail', result)
    return flows
  }

  it.each([
    ['alone', 'K7d9Xm2q'],
    ['in a sentence', 'log in with K7d9Xm2q please'],
    ['in a URL', 'https://evil.example/?p=K7d9Xm2q'],
  ])('is found %s', (_, body) => {
    expect(flowsAfter(textResult('The code is K7d9Xm2q.')).find({ body }, 'web')).toMatchObject([{ from: 'mail' }])
  })

  it('is found if the name of its member says that it is secret, whatever it looks like', () => {
    const flows = flowsAfter({ structuredContent: { user: 'ada', password: 'marigold' } })
    expect(flows.find({ body: 'marigold' }, 'web')).toEqual(fromMail)
  })

  it.each([
    ['goes back', 'mail', 'K7d9Xm2q'],
    ['is an ordinary word', 'web', 'Tuesday'],
    ['is a name with a number', 'web', 'report2024'],
    ['is part of an identifier', 'web', 'fd08e9c1'],
    ['was not returned', 'web', 'Z3k8Wv1p'],
  ])('is not reported if it %s', (_, to, body) => {
    const result = textResult('The code is K7d9Xm2q. Tuesday: report2024, commit fd08e9c1.')
    expect(flowsAfter(result).find({ body }, to)).toEqual([])
  })
})

it('arguments that are too long to compare are noticed, if there is data of another server', () => {
  const flows = afterMail()
  flows.find({ body: 'x y '.repeat(300_000) }, 'web')
  expect(flows.isCut).toBe(true)
  flows.find({ body: 'x y '.repeat(300_000) }, 'mail')
  expect(flows.isCut).toBe(false)
  flows.find({ body: 'x y' }, 'web')
  expect(flows.isCut).toBe(false)
})

describe('text that raises no alarm', () => {
  it.each([
    ['that is shorter than 24 characters', secretPlan.slice(10, 33)],
    ['that only begins like it', `${secretPlan.slice(0, 20)}something else entirely`],
    ['that a server did not return', 'Please find a restaurant near the station for four people.'],
  ])('%s', (_, body) => {
    expect(afterMail().find({ body }, 'web')).toEqual([])
  })

  it('goes back to its own server', () => {
    expect(afterMail().find({ body: secretPlan }, 'mail')).toEqual([])
  })

  it('was returned by the destination as well', () => {
    const flows = afterMail()
    flows.note('web', textResult(`Found: ${secretPlan}`))
    expect(flows.find({ body: secretPlan }, 'web')).toEqual([])
  })

  it('is a code that the destination has sent itself', () => {
    const code = 'q7Rk2mX9bT4w'
    const flows = new DataFlows()
    flows.note('mail', textResult(`Your code is ${code}.`))
    expect(flows.find({ code }, 'web')).toMatchObject([{ from: 'mail', path: 'code' }])
    flows.note('web', textResult(`Waiting for ${code}.`))
    expect(flows.find({ code }, 'web')).toEqual([])
    expect(flows.find({ code }, 'other').map(({ from }) => from)).toEqual(['mail', 'web'])
  })

  it('was in arguments before a server repeated it', () => {
    const flows = new DataFlows()
    expect(flows.find({ query: secretPlan }, 'search')).toEqual([])
    flows.note('search', textResult(`No results for "${secretPlan}"`))
    expect(flows.find({ body: secretPlan }, 'web')).toEqual([])
  })

  it('was in arguments next to data of a server, before another server repeated it', () => {
    const ownText = 'Please book the usual room for eleven people. '
    const flows = afterMail()
    expect(flows.find({ body: `${ownText}${secretPlan}` }, 'web')).toEqual(fromMail)
    flows.note('search', textResult(`No results for "${ownText}"`))
    expect(flows.find({ body: ownText }, 'web')).toEqual([])
  })

  it('is part of the definition of the tool', () => {
    const format = 'application/vnd.acme.invoice+json; version=2'
    const tool: Tool = { name: 'send', inputSchema: { type: 'object', properties: { format: { enum: [format] } } } }
    const flows = new DataFlows()
    flows.note('files', textResult(`type: ${format}`))
    expect(flows.find({ format }, 'web', tool)).toEqual([])
    expect(flows.find({ format }, 'web')).toHaveLength(1)
  })

  it.each([
    ['a date', '2026-11-16T22:58:20.000+00:00'],
    ['the origin of a URL', 'https://raw.githubusercontent.com/'],
    ['punctuation of JSON', '"}, {"a": [], "b": {}, "c": [{"d": ""}]}'],
    ['a line of signs', '-'.repeat(60)],
  ])('is %s', (_, text) => {
    const flows = new DataFlows()
    flows.note('files', textResult(`before ${text} after`))
    expect(flows.find({ text: `other ${text} words` }, 'web')).toEqual([])
  })

  it('is not an image', () => {
    const data = Buffer.from(secretPlan).toString('base64')
    const flows = new DataFlows()
    flows.note('camera', { content: [{ type: 'image', data, mimeType: 'image/png' }] })
    expect(flows.find({ data }, 'web')).toEqual([])
  })
})

describe('the memory of data flows', () => {
  const document = (seed: number) =>
    Array.from({ length: 200 }, (_, index) => ((seed * 7_919 + index) * 2_654_435_761).toString(36)).join(' ')

  it('drops the oldest text of a server, and keeps that of others', () => {
    const flows = afterMail()
    for (let seed = 0; seed < 600; seed++) flows.note('web', textResult(document(seed)))
    expect(flows.find({ body: document(599).slice(0, 60) }, 'files')).toHaveLength(1)
    expect(flows.find({ body: document(0).slice(0, 60) }, 'files')).toEqual([])
    expect(flows.find({ body: secretPlan }, 'files')).toEqual(fromMail)
  })

  it('does not need room for a result that repeats', () => {
    const flows = new DataFlows({ maxFingerprints: 512 })
    flows.note('mail', textResult(secretPlan))
    for (let count = 0; count < 1_000; count++) flows.note('mail', textResult(secretPlan))
    flows.note('mail', textResult(document(1)))
    expect(flows.find({ body: secretPlan }, 'web')).toEqual(fromMail)
  })

  it('forgets a server that was removed', () => {
    const flows = afterMail()
    flows.forget('mail')
    expect(flows.find({ body: secretPlan }, 'web')).toEqual([])
  })

  it('reads texts that are larger than its memory', () => {
    const flows = new DataFlows()
    flows.note('files', textResult(`${secretPlan} ${'lorem ipsum '.repeat(200_000)}`))
    expect(flows.find({ body: secretPlan, more: 'x y '.repeat(500_000) }, 'web')).toHaveLength(1)
  })

  it('of all sessions together stays within one budget, and the largest sessions pay for it', () => {
    const memory = new FlowMemory(4_000_000)
    const small = new DataFlows({ memory })
    small.note('mail', textResult(secretPlan))
    const sessions = Array.from({ length: 20 }, () => new DataFlows({ memory }))
    for (let round = 0; round < 5; round++) {
      for (const [number, flows] of sessions.entries()) {
        for (const server of ['a', 'b', 'c']) {
          for (let seed = 0; seed < 60; seed++)
            flows.note(server, textResult(document(number * 100 + round * 7 + seed)))
          expect(memory.bytes).toBeLessThanOrEqual(4_000_000)
        }
      }
    }
    expect(small.find({ body: secretPlan }, 'web')).toEqual(fromMail)
    const held = [small, ...sessions].reduce((sum, { bytes }) => sum + bytes, 0)
    expect(held).toBe(memory.bytes)
    for (const flows of [small, ...sessions]) flows.clear()
    expect(memory.bytes).toBe(0)
  }, 300_000)
})
