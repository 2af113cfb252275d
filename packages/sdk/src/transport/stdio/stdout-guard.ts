import { warnOnce } from '../../util/warn.ts'

type Write = typeof process.stdout.write

let holders = 0
let original: Write | undefined

/**
 * Keeps stdout for messages: a stray `console.log` would break the stream for the client. While the guard is held such
 * output goes to stderr, and the first time it says where it came from.
 */
export function guardStdout(): { write: Write; release(): void } {
  if (holders++ === 0) {
    original = process.stdout.write
    process.stdout.write = redirect as Write
  }
  const write = original!.bind(process.stdout) as Write
  let held = true
  return {
    write,
    release() {
      if (!held) return
      held = false
      if (--holders === 0) process.stdout.write = original!
    },
  }
}

function redirect(chunk: string | Uint8Array, ...rest: unknown[]): boolean {
  const caller = new Error().stack?.split('\n').find((line) => isUserCode(line))
  warnOnce(
    'stdout',
    `Something wrote to stdout, which carries MCP messages; it goes to stderr instead.${caller ? ` First seen${caller.replace(/^\s+/, ' ')}` : ''}`,
  )
  return (process.stderr.write as (...args: unknown[]) => boolean)(chunk, ...rest)
}

function isUserCode(line: string): boolean {
  return line.includes('at ') && !line.includes('node:') && !line.includes('redirect')
}
