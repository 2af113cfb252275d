import { safeVariables } from '../../util/safe-variables.ts'

/** Returns the environment variables that a program needs to run, without others that may be secrets. */
export function safeEnvironment(): Record<string, string> {
  return safeVariables(process.env, process.platform)
}
