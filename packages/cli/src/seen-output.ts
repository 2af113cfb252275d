import { ClosedError } from 'tenon'

/** What this process has shown about the servers that it started. There is one command per process. */
export const seenOutput = {
  /** Whether the user has seen stderr of a server. */
  hasShown: false,
  /** Servers that crashed after they had answered. If a command fails, its error says so instead. */
  crashes: [] as string[],
}

/** Returns the message of an error, without the stderr of the server if the user has seen it already. */
export function messageWithoutOutput(error: unknown, message: string): string {
  const stderr = error instanceof ClosedError ? error.detail?.stderr?.trim() : undefined
  return seenOutput.hasShown && stderr ? message.replace(`. The end of its stderr:\n${stderr}`, '') : message
}
