/** The tool whose handler was called last. */
export const lastTool: { name: string | undefined } = { name: undefined }

let isRegistered = false

/**
 * Prints which tool ran last when a rejection that nothing handles ends the process. The stack of such an error often contains
 * no line of the handler. The process ends as it would otherwise.
 */
export function hintAtCrashes(): void {
  if (isRegistered) return
  isRegistered = true
  process.on('uncaughtExceptionMonitor', (_error, origin) => {
    if (origin !== 'unhandledRejection' || lastTool.name === undefined) return
    console.error(
      `[tenon] A promise was rejected that nothing awaited, which ends the process. The last tool that was called is ${JSON.stringify(lastTool.name)}. Await or catch every promise that its handler creates.`,
    )
  })
}
