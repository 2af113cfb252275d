import type { TenonMatchers } from '../testing/matchers/matchers.ts'

export type { MatcherContext, MatcherResult, TextPattern } from '../testing/matchers/matcher.ts'
export { matchers, type TenonMatchers } from '../testing/matchers/matchers.ts'

declare global {
  // The types of Jest extend this namespace, so there is no other way to add matchers to its global `expect`.
  namespace jest {
    interface Matchers<R> extends TenonMatchers<R> {}
  }
}
