import { terminalHandlers } from 'tenon/client/terminal'
import { type Approve, type Host, type HostInput, terminalApproval } from 'tenon/host'
import { type RememberedDenials, rememberDenials } from '../host/remember-denials.ts'
import { type LineSource, PipedLines, TypedLines } from './line-source.ts'
import { slashCommands } from './slash-commands.ts'

/** How the user is reached. */
export interface Terminal {
  readonly isInteractive: boolean
  readonly lines: LineSource
  readonly denials: RememberedDenials
  /** Undefined without a terminal: servers cannot ask then. */
  readonly input: HostInput | undefined
  /** Keeps the names of tools for completion. */
  watch(host: Host): Promise<void>
}

/** Creates the terminal. Without one, lines come from a pipe, and everything that needs approval is denied. */
export function createTerminal(color: boolean): Terminal {
  const isInteractive = process.stdin.isTTY === true
  const isColored = color && !process.env.NO_COLOR
  const ask = askOrFail(terminalApproval({ color: isColored }))
  if (!isInteractive) {
    const lines = new PipedLines(process.stdin)
    return { isInteractive, lines, denials: rememberDenials(ask), input: undefined, watch: async () => {} }
  }
  const output = process.stdout.isTTY ? process.stdout : process.stderr
  let names: readonly string[] = []
  const lines = new TypedLines({ input: process.stdin, output, complete: (line) => completionsOf(line, names) })
  const handlers = terminalHandlers({ color: isColored })
  return {
    isInteractive,
    lines,
    denials: rememberDenials((request) => lines.exclusively(async () => ask(request))),
    input: {
      elicit: (form, { server: { id, address }, signal }) =>
        lines.exclusively(async () => handlers.elicit(form, { server: { name: id, address }, signal })),
      elicitUrl: (request, { server: { id, address }, signal }) =>
        lines.exclusively(async () => handlers.elicitUrl(request, { server: { name: id, address }, signal })),
    },
    watch: async (host) => {
      const refresh = async () => {
        names = (await host.tools()).map(({ name }) => name)
      }
      host.on('catalogChanged', () => void refresh())
      await refresh()
    },
  }
}

/** Fails if there is no terminal: a denial would be recorded as one by the user. */
function askOrFail(ask: Approve): Approve {
  const { stdin, stdout, stderr } = process
  if (stdin.isTTY && (stdout.isTTY || stderr.isTTY)) return ask
  return async (request) => {
    // Explains once that there is no terminal.
    await ask(request)
    throw new Error('there is no terminal')
  }
}

function completionsOf(line: string, names: readonly string[]): string[] {
  const before = /^\/(call|tools) /.exec(line)?.[0]
  const all = before ? names.map((name) => `${before}${name} `) : [...slashCommands.keys()].map((name) => `${name} `)
  return all.filter((each) => each.startsWith(line))
}
