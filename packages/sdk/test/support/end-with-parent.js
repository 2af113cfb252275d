/**
 * Ends this process when the one that started it is gone, however that ended. The channel to it closes then: IPC for `fork`, the
 * pipe of stdin for `spawn` and `execFile`. Neither keeps this process alive.
 */
export function endWithParent() {
  if (process.channel) {
    process.on('disconnect', () => process.exit(1))
    return
  }
  process.stdin.on('end', () => process.exit(1)).resume()
  process.stdin.unref?.()
}
