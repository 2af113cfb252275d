import type { ChildProcess } from 'node:child_process'

/**
 * Reads `+ id` and `- id` lines. When they end, because this process was killed, it ends the process groups that are left, as
 * slowly as a client that closes: a server sees the end of its stdin first.
 */
const script = `
groups=' '
while read -r change group; do
  if [ "$change" = '+' ]; then groups="$groups$group "
  else
    rest=' '
    for each in $groups; do [ "$each" = "$group" ] || rest="$rest$each "; done
    groups=$rest
  fi
done
for signal in TERM KILL; do
  [ "$groups" = ' ' ] && exit
  sleep 2
  rest=' '
  for each in $groups; do kill -s $signal -- "-$each" 2>/dev/null && rest="$rest$each "; done
  groups=$rest
done`

/**
 * Ends process groups after a SIGKILL of this process, when it cannot do so itself. It is one small shell for all servers of
 * the process, and runs only while there are any.
 */
class Watchdog {
  #shell: ChildProcess | undefined
  readonly #groups = new Set<number>()

  add(group: number): void {
    this.#groups.add(group)
    this.#shell ??= start()
    this.#shell?.stdin?.write(`+ ${group}\n`)
  }

  remove(group: number): void {
    if (!this.#groups.delete(group)) return
    this.#shell?.stdin?.write(`- ${group}\n`)
    if (this.#groups.size > 0) return
    this.#shell?.stdin?.end()
    this.#shell = undefined
  }
}

/** Undefined where there are no process groups. Without a shell, servers only see the end of their stdin. */
function start(): ChildProcess | undefined {
  if (process.platform === 'win32') return undefined
  const { spawn } = process.getBuiltinModule('node:child_process')
  // In a session of its own, so that signals of the terminal do not reach it.
  const shell = spawn('/bin/sh', ['-c', script], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
  })
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  // A pipe is a socket, whose type does not say so.
  ;(shell.stdin as { unref?: () => void }).unref?.()
  return shell
}

export const watchdog = new Watchdog()
