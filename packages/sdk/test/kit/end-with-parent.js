/**
 * Ends this process when the one that started it is gone, however that ended. The channel to it closes then: IPC for `fork`, the
 * pipe of stdin for `spawn` and `execFile`. Neither keeps this process alive.
 */
export function endWithParent() {
  if (process.channel) {
    // Also when it is this process that hangs up, because its work is done: so nothing is said of failure.
    process.on('disconnect', () => process.exit())
    return
  }
  process.stdin.on('end', () => process.exit(1)).resume()
  process.stdin.unref?.()
}
