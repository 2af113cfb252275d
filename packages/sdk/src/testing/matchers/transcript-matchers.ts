import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { ProgressParams } from '../../protocol/progress.ts'
import { isObject } from '../../util/objects.ts'
import { type AskedQuestion, textOfQuestion } from '../questions.ts'
import { Transcript } from '../transcript.ts'
import {
  type MatcherContext,
  type MatcherResult,
  matchesMembers,
  matchesText,
  type TextPattern,
  toResult,
  wrongKind,
} from './matcher.ts'

/** Passes if the server asked the client a question: any, one with this text, or one with these members. */
export function toHaveAsked(
  this: MatcherContext,
  received: unknown,
  expected?: TextPattern | Partial<AskedQuestion>,
): MatcherResult {
  const questions = transcriptOf(this, 'toHaveAsked', received).questions()
  return checkItems(this, 'toHaveAsked', expected, {
    items: questions,
    noun: 'question',
    textOf: textOfQuestion,
    print: ({ method, params }) =>
      textOfQuestion({ method, params }) === ''
        ? method
        : `${method} ${JSON.stringify(textOfQuestion({ method, params }))}`,
  })
}

/** Passes if the server sent a log message: any, one with this text, or one with these members. */
export function toHaveLogged(
  this: MatcherContext,
  received: unknown,
  expected?: TextPattern | Partial<LoggingMessageParams>,
): MatcherResult {
  const textOf = ({ data }: LoggingMessageParams) => (typeof data === 'string' ? data : JSON.stringify(data))
  return checkItems(this, 'toHaveLogged', expected, {
    items: transcriptOf(this, 'toHaveLogged', received).logs(),
    noun: 'log message',
    textOf,
    print: (log) => `${log.level} ${log.logger === undefined ? '' : `[${log.logger}] `}${textOf(log)}`,
  })
}

/** Passes if the server reported progress: any, with this message, or with these members. */
export function toHaveProgressed(
  this: MatcherContext,
  received: unknown,
  expected?: TextPattern | Partial<ProgressParams>,
): MatcherResult {
  return checkItems(this, 'toHaveProgressed', expected, {
    items: transcriptOf(this, 'toHaveProgressed', received).progress(),
    noun: 'progress notification',
    textOf: ({ message = '' }) => message,
    print: ({ progress, total, message }) =>
      `${progress}${total === undefined ? '' : ` of ${total}`}${message === undefined ? '' : ` ${JSON.stringify(message)}`}`,
  })
}

interface Items<T> {
  readonly items: readonly T[]
  readonly noun: string
  textOf(item: T): string
  print(item: T): string
}

function checkItems<T extends object>(
  context: MatcherContext,
  name: string,
  expected: TextPattern | Partial<T> | undefined,
  { items, noun, textOf, print }: Items<T>,
): MatcherResult {
  const isExpected = (item: T) => {
    if (expected === undefined) return true
    return isPattern(expected) ? matchesText(textOf(item), expected) : matchesMembers(context, item, expected)
  }
  const what = expected === undefined ? '' : isPattern(expected) ? ' with the text' : ' with'
  const lines = items.slice(0, maxShown).map((item) => `\n  ${print(item)}`)
  const more = items.length > maxShown ? `\n  and ${items.length - maxShown} more` : ''
  return toResult(context, {
    name,
    pass: items.some(isExpected),
    expected: `a ${noun}${what}${expected === undefined ? '' : ` ${context.utils.printExpected(expected)}`}`,
    received:
      items.length === 0
        ? `no ${noun}`
        : `${items.length} ${noun}${items.length === 1 ? '' : 's'}:${lines.join('')}${more}`,
  })
}

const maxShown = 20

function isPattern(expected: unknown): expected is TextPattern {
  return typeof expected === 'string' || expected instanceof RegExp
}

function transcriptOf(context: MatcherContext, name: string, received: unknown): Transcript {
  if (received instanceof Transcript) return received
  if (isObject(received) && received.transcript instanceof Transcript) return received.transcript
  return wrongKind(context, name, received, 'a Transcript, or an object with one such as `pair` of wire.connect()')
}
