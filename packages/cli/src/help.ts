import { wrap } from './columns.ts'
import { commandGroups } from './command-table.ts'
import { type Output, proseWidth } from './output.ts'

/** The output of `tenon` without arguments. */
export const overview: readonly string[] = [
  'tenon list node server.js                       show what a server offers',
  'tenon call https://example.com/mcp add a=1 b=2  call a tool',
  'tenon inspect node server.js                    see every message in a browser',
  'tenon dev server.ts                             restart a server on changes',
  'tenon gateway mcp.json --allow-all              serve many servers as one',
  'tenon help <command>                            show the options of a command',
]

/** The output of `tenon help`: examples, and all commands with their arguments by what they are for. */
export function viewHelp({ paint, width }: Output): string[] {
  const left = Math.max(...commandGroups.flatMap(({ commands }) => commands.map((entry) => usageOf(entry).length)))
  const row = (usage: string, summary: string) => {
    const [first = '', ...rest] = wrap(summary, proseWidth(width) - left - 4)
    return [`  ${usage.padEnd(left)}  ${first}`, ...rest.map((line) => ' '.repeat(left + 4) + line)]
  }
  return [
    paint.strong('Examples'),
    ...overview.slice(0, 3).map((line) => `  ${line}`),
    ...commandGroups.flatMap(({ title, commands }) => [
      '',
      paint.strong(title),
      ...commands.flatMap((entry) => row(usageOf(entry), entry.summary)),
    ]),
    ...row('help <command>', 'show the options of a command'),
    ...row('--version', 'print the version'),
    '',
    ...wrap(targets, proseWidth(width)),
  ]
}

const targets =
  'A target is a URL, a command (node server.js), a file (./server.ts), or the name of a server in a config file such as mcp.json. If other arguments follow, a command goes after "--": tenon call add a=1 b=2 -- node server.js'

function usageOf({ name, usage }: { readonly name: string; readonly usage: string }): string {
  return `${name} ${usage}`
}
