/** One program with its arguments, on the command line itself or in a script that it contains. */
export interface SimpleCommand {
  /** The name of the program in lower case, without folders and without the `.exe` or `.cmd` of Windows. */
  readonly program: string
  readonly args: readonly string[]
  /** The words as they were written. */
  readonly text: string
  /** False for the commands in a script. */
  readonly isOutermost: boolean
}

/** The commands of a command line. */
export interface FoundCommands {
  /** All commands, the outermost first. */
  readonly commands: readonly SimpleCommand[]
  /** The commands of each pipeline that has more than one. */
  readonly pipelines: readonly (readonly SimpleCommand[])[]
}

/** Finds the commands that a command line runs: itself, the one after wrappers such as `env`, and those in shell scripts. */
export function commandsOf(words: readonly string[]): FoundCommands {
  const commands: SimpleCommand[] = []
  const pipelines: SimpleCommand[][] = []
  const visit = (given: readonly string[], depth: number): SimpleCommand | undefined => {
    const command = toCommand(withoutWrappers(given), depth === 0)
    if (command === undefined || commands.length >= maxCommands) return undefined
    commands.push(command)
    const script = depth < maxDepth ? scriptOf(command) : undefined
    // `op run -- npx ...`: many programs run what comes after the two dashes.
    const dashes = command.args.indexOf('--')
    if (script === undefined && dashes >= 0) visit(command.args.slice(dashes + 1), depth + 1)
    for (const pipeline of script === undefined ? [] : parseScript(script)) {
      const parts = pipeline.flatMap((part) => visit(part, depth + 1) ?? [])
      if (parts.length > 1) pipelines.push(parts)
    }
    return command
  }
  visit(words, 0)
  return { commands, pipelines }
}

/** Levels of scripts in scripts. Ordinary commands have fewer. */
const maxDepth = 4
const maxCommands = 1_000

/** Programs that run scripts, by name. */
export const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'rbash', 'zsh', 'dash', 'ksh', 'fish', 'ash'])
/** The shells of Windows that take scripts as `-Command`. */
export const powerShells: ReadonlySet<string> = new Set(['powershell', 'pwsh'])

function toCommand(words: readonly string[], isOutermost: boolean): SimpleCommand | undefined {
  const [first, ...args] = words
  if (first === undefined) return undefined
  return { program: programOf(first), args, text: words.join(' '), isOutermost }
}

/** The name of a program in lower case, without folders and without the `.exe` or `.cmd` of Windows. */
export function programOf(word: string): string {
  const name = word.split(/[\\/]/).at(-1) ?? word
  return name.toLowerCase().replace(/\.(?:exe|cmd|bat|ps1)$/, '')
}

/** Programs that run the program after them, with what to skip, and options that have a value. */
const wrappers = new Map<string, { readonly skipped: RegExp; readonly valued?: readonly string[] }>([
  ['env', { skipped: /^(?:-|[A-Za-z_]\w*=)/, valued: ['-u', '--unset', '-C', '--chdir', '-a', '--argv0'] }],
  ['busybox', { skipped: /^-/ }],
  ['nohup', { skipped: /^-/ }],
  ['setsid', { skipped: /^-/ }],
  ['stdbuf', { skipped: /^-/, valued: ['-i', '--input', '-o', '--output', '-e', '--error'] }],
  ['timeout', { skipped: /^(?:-|[\d.]+[smhd]?$)/, valued: ['-k', '--kill-after', '-s', '--signal'] }],
  ['nice', { skipped: /^-/, valued: ['-n', '--adjustment'] }],
  ['ionice', { skipped: /^-/, valued: ['-c', '--class', '-n', '--classdata'] }],
  ['time', { skipped: /^-/, valued: ['-f', '--format', '-o', '--output'] }],
  ['exec', { skipped: /^-/, valued: ['-a'] }],
  ['command', { skipped: /^-/ }],
  ['xargs', { skipped: /^-/, valued: ['-I', '-n', '-P', '-a', '--arg-file', '-d', '-E', '-L', '-s'] }],
  ['unshare', { skipped: /^-/, valued: ['-S', '--setuid', '-G', '--setgid', '-R', '--root', '-w', '--wd'] }],
  ['setpriv', { skipped: /^-/, valued: ['--reuid', '--regid', '--groups', '--securebits', '--pdeathsig'] }],
  ['taskset', { skipped: /^(?:-|(?:0x)?[\da-f,-]+$)/ }],
  ['chrt', { skipped: /^(?:-|\d+$)/ }],
  ['prlimit', { skipped: /^-/ }],
  ['strace', { skipped: /^-/, valued: ['-e', '-o', '-p', '-s', '-u', '-E', '-a', '-O', '-S', '-P'] }],
  // How Windows starts scripts such as npx. What a shell would interpret is looked for separately.
  ['cmd', { skipped: /^\// }],
  ['wsl', { skipped: /^-/, valued: ['-d', '--distribution', '-u', '--user', '--cd'] }],
])

/** The names of programs that run the program after them. `cmd` is a shell. */
export const wrapperNames: readonly string[] = [...wrappers.keys()].filter((name) => name !== 'cmd')

function withoutWrappers(words: readonly string[]): readonly string[] {
  let rest = words
  for (let round = 0; round < 10; round++) {
    rest = withSplitWords(rest)
    const wrapper = wrappers.get(toCommand(rest, false)?.program ?? '')
    const next = wrapper ? firstOperand(rest, wrapper.skipped, wrapper.valued) : -1
    if (next < 0) return rest
    rest = rest.slice(next)
  }
  return rest
}

/** `env -S 'sh -c x'` splits a text into the words of the command. */
function withSplitWords(words: readonly string[]): readonly string[] {
  const [first = '', ...args] = words
  if (programOf(first) !== 'env') return words
  const at = args.findIndex((arg) => splitOption.test(arg))
  if (at < 0) return words
  const glued = (args[at] ?? '').replace(splitOption, '')
  const next = glued === '' ? at + 2 : at + 1
  const text = glued === '' ? (args[at + 1] ?? '') : glued
  return [first, ...args.slice(0, at), ...parseScript(text).flat(2), ...args.slice(next)]
}

const splitOption = /^(?:-[iv0]*S|--split-string(?:=|$))/

/** The variables that `env` sets for the program after it. */
export function assignmentsOf(words: readonly string[]): Record<string, string> {
  const [first = '', ...args] = withSplitWords(words)
  const found: Record<string, string> = Object.create(null)
  if (programOf(first) !== 'env') return found
  for (const arg of args) {
    const at = /^[A-Za-z_]\w*=/.test(arg) ? arg.indexOf('=') : -1
    if (at > 0) found[arg.slice(0, at)] = arg.slice(at + 1)
  }
  return found
}

/** The index of the first word after the program that is neither an option nor the value of one. */
function firstOperand(words: readonly string[], skipped: RegExp, valued: readonly string[] = []): number {
  for (let index = 1; index < words.length; index++) {
    const word = words[index] ?? ''
    if (valued.includes(word)) index++
    else if (!skipped.test(word)) return index
  }
  return -1
}

/** The options before the first operand. What comes later belongs to the program that an interpreter runs. */
export function leadingOptions(args: readonly string[], valued: readonly string[] = []): readonly string[] {
  const end = firstOperand(['', ...args], /^[-+]/, valued)
  return end < 0 ? args : args.slice(0, end - 1)
}

/** The text that a shell runs as a script. */
export function scriptOf({ program, args }: SimpleCommand): string | undefined {
  if (program === 'eval' || program === 'iex' || program === 'invoke-expression') return args.join(' ')
  if (powerShells.has(program)) {
    const at = args.findIndex((arg) => /^-c/i.test(arg))
    return at < 0 ? undefined : args.slice(at + 1).join(' ')
  }
  if (program === 'npx' || program === 'pnpx') return optionValue(args, ['-c', '--call'])
  if (program === 'npm' && /^(?:exec|x)$/.test(args[0] ?? '')) return optionValue(args.slice(1), ['-c', '--call'])
  if (program === 'pnpm' && args[0] === 'dlx' && /^(?:-c|--shell-mode)$/.test(args[1] ?? '')) return args[2]
  if (!shells.has(program)) return undefined
  const options = leadingOptions(args, ['-o', '+o', '-O', '+O', '--rcfile', '--init-file'])
  return options.some((option) => /^-[a-z]*c[a-z]*$/i.test(option)) ? args[options.length] : undefined
}

const npmValued = ['-p', '--package', '--loglevel', '--registry', '--prefix', '--cache', '-w', '--workspace']

function optionValue(args: readonly string[], names: readonly string[]): string | undefined {
  const options = leadingOptions(args, [...npmValued, ...names])
  const at = options.findIndex((option) => names.includes(option.split('=', 1)[0] ?? ''))
  if (at < 0) return undefined
  const option = options[at] ?? ''
  return option.includes('=') ? option.slice(option.indexOf('=') + 1) : args[at + 1]
}

/** Splits a script into pipelines of commands of words. A rough reading: enough to recognize patterns. */
export function parseScript(script: string): string[][][] {
  const pipelines: string[][][] = [[[]]]
  for (const token of tokens(script)) {
    const pipeline = pipelines.at(-1) ?? []
    if (token.isOperator && token.text === '|') pipeline.push([])
    else if (token.isOperator) pipelines.push([[]])
    else pipeline.at(-1)?.push(token.text)
  }
  return pipelines
}

interface Token {
  readonly text: string
  readonly isOperator: boolean
}

/** An operator, or a word with parts in quotes. The parts start with different characters, so the time is linear. */
const tokenPattern =
  /\|\|?|&&?|[;\n(){}`]|\$\(|<\(|(?:'[^']*'?|"(?:\\.|[^"\\])*"?|\\.|\$\{[^}]*\}?|[^\s|&;(){}`'"\\$<]|\$(?![({])|<(?!\())+/gs

const maxScript = 20_000

function tokens(script: string): Token[] {
  return Array.from(script.slice(0, maxScript).matchAll(tokenPattern), ([text]) => {
    const isOperator = /^(?:\|\|?|&&?|[;\n(){}`]|\$\(|<\()$/.test(text)
    return { text: isOperator ? (text === '||' ? ';' : text) : unquoted(text), isOperator }
  })
}

function unquoted(word: string): string {
  return word.replace(/'([^']*)'?|"((?:\\.|[^"\\])*)"?|\\(.)/gs, (_, single, double, char) => single ?? double ?? char)
}
