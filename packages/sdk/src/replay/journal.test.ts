import { describe, expect, it } from 'vitest'
import { checkAnswer, emptyJournal, isErrorAnswer, Journal } from './journal.ts'

const question = { method: 'roots/list' as const }

describe('an answer', () => {
  it.each([
    [{ error: { code: -32603, message: 'broken' } }, true],
    [{ error: { message: 'without a code' } }, false],
    [{ error: { code: '1', message: 'a code that is text' } }, false],
    [{ error: 'broken' }, false],
    [{ roots: [] }, false],
    [null, false],
  ])('%j is an error of the client: %s [MRTR-024]', (answer, isError) => {
    expect(isErrorAnswer(answer)).toBe(isError)
  })

  it('must fit its question', () => {
    expect(() => checkAnswer('k', question, { roots: [] })).not.toThrow()
    expect(() => checkAnswer('k', question, { roots: 'none' })).toThrow('params.inputResponses["k"]')
  })

  it('counts for the question that was asked, and is asked for again if the question changed', async () => {
    const first = new Journal(() => {})
    await expect(first.ask(question, 'k')).rejects.toThrow()
    const state = await first.toState()
    const second = new Journal(() => {}, state, { k: { roots: [] }, other: { roots: [] } })
    expect([second.answerCount, second.isWaiting, second.round]).toEqual([1, false, 1])
    expect(await second.ask(question, 'k')).toEqual({ roots: [] })
    const failed = new Journal(() => {}, state, { k: { error: { code: -1, message: 'no' } } })
    await expect(failed.ask(question, 'k')).rejects.toMatchObject({ code: 'peer', rpcCode: -1 })
  })

  it('is not needed for an empty journal', async () => {
    const journal = new Journal(() => {}, emptyJournal)
    expect([journal.isEmpty, journal.isWaiting]).toEqual([true, false])
    expect(await journal.once('k', () => 1)).toBe(1)
    expect([journal.isEmpty, journal.remembers('k')]).toEqual([false, true])
  })
})
