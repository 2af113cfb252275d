import type {} from 'vitest'
import type { TenonMatchers } from '../testing/matchers/matchers.ts'

export type { MatcherContext, MatcherResult, TextPattern } from '../testing/matchers/matcher.ts'
export { matchers, type TenonMatchers } from '../testing/matchers/matchers.ts'

declare module 'vitest' {
  interface Matchers<T> extends TenonMatchers {}
}
