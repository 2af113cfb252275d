import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { handshakeRevisions, record, recordStateless } from './conversation.js'
import { differences } from './differences.js'
import { programs } from './programs.js'

const installed = fileURLToPath(new URL('node_modules', import.meta.url))
const aliased = fileURLToPath(new URL('aliased/node_modules', import.meta.url))

for (const [name, program] of Object.entries(programs)) {
  describe(name, () => {
    let official
    for (const revision of handshakeRevisions) {
      it(`gives a client of ${revision} the same answers as on the official SDK`, async () => {
        const recorded = [installed, aliased].map((modules) => record(program, modules, revision))
        const [theirs, ours] = await Promise.all(recorded)
        official = theirs
        const [expected, actual] = explain(name, theirs, ours)
        for (const request of Object.keys(theirs)) {
          assert.deepEqual(actual[request], expected[request], `The answers to ${request} differ`)
        }
      })
    }

    it('gives a client of 2026-07-28 the same tools and results', async () => {
      const ours = await recordStateless(program, aliased)
      assert.deepEqual(
        ours.tools,
        official['{"method":"tools/list"}'].result?.tools.map(({ name }) => name),
      )
      for (const [request, content] of Object.entries(ours.contents)) {
        assert.deepEqual(content, official[request].result?.content, `The results of ${request} differ`)
      }
    })
  })
}

/** Applies the explained differences of a program to the answers on both SDKs. */
function explain(name, ...answers) {
  return differences
    .filter(({ program }) => program === name)
    .reduce((before, { why, rewrite }) => {
      const after = before.map(rewrite)
      assert.notDeepEqual(after, before, `This difference does not exist any more: ${why}`)
      return after
    }, answers)
}
