import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const freePort = new URL('free-port.js', import.meta.url).href

/**
 * Starts an HTTP server of this folder on a free port.
 *
 * @returns Its `origin`, its `pid`, its stderr output so far, and `stop()`, which waits until it has exited.
 */
export async function startServer(file, ...args) {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url))
  const child = fork(path, args, { execArgv: ['--import', freePort], silent: true })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  // Unread output would block a server that writes a lot.
  child.stdout.resume()
  const exited = once(child, 'exit')
  const early = exited.then(([code]) => {
    throw new Error(`${file} ended with ${code} before it listened: ${said}`)
  })
  const [port] = await Promise.race([once(child, 'message'), early])
  return {
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid,
    stderr: () => said,
    stop: () => stop(child, exited),
  }
}

async function stop(child, exited) {
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 3000)
  await exited
  clearTimeout(force)
}

/** POSTs one message like a client that only has `fetch`. */
export function post(url, message, headers = {}) {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
}

/** Returns the response message, from JSON or from the last event of a stream. */
export async function answerOf(response) {
  const text = await response.text()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text)
  const data = text.split('\n').filter((line) => line.startsWith('data: {'))
  return JSON.parse(data.at(-1).slice('data: '.length))
}
