import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/**
 * Puts a program on the PATH under the name of the system command that opens URLs. It passes its arguments to the test,
 * which uses a headless browser.
 *
 * @returns `opened()`: resolves with the next URL to open.
 */
export async function replaceOpener(t) {
  const folder = mkdtempSync(join(tmpdir(), 'opener-'))
  const place = join(folder, 'socket')
  const { calls, take } = createQueue()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    socket.on('end', () => {
      socket.end()
      calls(JSON.parse(text))
    })
  })
  await new Promise((resolve) => server.listen(place, resolve))
  const program = `#!${process.execPath}
require('node:net').connect(${JSON.stringify(place)}).end(JSON.stringify(process.argv.slice(2)))
`
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(join(folder, name), program)
    chmodSync(join(folder, name), 0o755)
  }
  const { PATH } = process.env
  process.env.PATH = `${folder}${delimiter}${PATH}`
  t.after(() => {
    process.env.PATH = PATH
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { opened: () => take().then(onlyArgument) }
}

function onlyArgument(args) {
  if (args.length !== 1) throw new Error(`One page was to be opened, not ${JSON.stringify(args)}`)
  return args[0]
}

/** A first-in, first-out queue whose items can be awaited. */
function createQueue() {
  const waiting = []
  const present = []
  return {
    calls: (item) => (waiting.length > 0 ? waiting.shift()(item) : present.push(item)),
    take: () => (present.length > 0 ? Promise.resolve(present.shift()) : new Promise((take) => waiting.push(take))),
  }
}
