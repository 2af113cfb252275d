/**
 * Ends this process when its parent is gone for any reason. The channel to the parent closes then: IPC for `fork`, the
 * stdin pipe for `spawn` and `execFile`. Neither keeps this process alive.
 */
export function endWithParent() {
  if (isWatching) return
  isWatching = true
  if (process.channel) {
    // Sets no error code, because this process may also have disconnected itself after finishing its work.
    process.on('disconnect', () => process.exit())
    return
  }
  process.stdin.on('end', () => process.exit(1)).resume()
  process.stdin.unref?.()
}

// A worker that runs several test files calls it for each of them.
let isWatching = false
