import { type LoggingLevel, loggingLevels } from './types.ts'

/** Whether a message of this level passes a threshold; undefined lets nothing pass. */
export function isAtLeast(level: LoggingLevel, threshold: LoggingLevel | undefined): boolean {
  return threshold !== undefined && loggingLevels.indexOf(level) >= loggingLevels.indexOf(threshold)
}
