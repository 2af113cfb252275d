import { leadingOptions, powerShells, programOf, shells, wrapperNames } from './commands.ts'
import { isPlainMount, isPlainVolume } from './container-mounts.ts'
import { isAbsolutePath, isWithinAny, resolvePath, resolveRelative } from './paths.ts'
import type { Launch } from './sandbox.ts'

/**
 * True if a command has one of the few plain forms in which servers are started: an interpreter with a file, a package with its
 * arguments, a container, or a program of the user. What can run any other command in its arguments is not plain. What is
 * unknown is not plain either, because no list of dangerous programs is complete.
 */
export function isPlainLauncher({ command, args, cwd }: Pick<Launch, 'command' | 'args' | 'cwd'>): boolean {
  return isPlain([command, ...args], { cwd, depth: 0 })
}

interface Context {
  readonly cwd: string | undefined
  readonly depth: number
}

type Words = readonly string[]
type Form = (args: Words, context: Context) => boolean

function isPlain(words: Words, context: Context): boolean {
  const [first = '', ...args] = words
  if (first === '' || context.depth > 4) return false
  const name = baseName(first)
  const next = { ...context, depth: context.depth + 1 }
  const place = placeOf(first, context.cwd)
  if (place === 'elsewhere') return false
  const form = forms.get(name)
  if (form) return form(args, next)
  if (commandRunners.has(name) || !isPlainAfterDashes(args, next)) return false
  return isServerName(name) || place === 'own'
}

/** Many programs run what comes after the two dashes. */
function isPlainAfterDashes(args: Words, context: Context): boolean {
  const at = args.indexOf('--')
  return at < 0 || isPlain(args.slice(at + 1), context)
}

/** `python3.12` and `node22` are the same programs as `python` and `node`. */
function baseName(word: string): string {
  const name = programOf(word)
  return name.replace(/[-.\d]+$/, '') || name
}

/** A program in PATH is known by its name only, so the name has to say that it is a server. */
function isServerName(name: string): boolean {
  return /mcp|(?:^|[-_.])server(?:$|[-_.])/.test(name) && /^[\w.@+-]+$/.test(name)
}

/** Folders with programs that the system or a package manager installed. Many of them run other commands. */
const systemFolders = [
  ...[
    '/bin',
    '/sbin',
    '/lib',
    '/lib32',
    '/lib64',
    '/libexec',
    '/usr',
    '/etc',
    '/var',
    '/boot',
    '/root',
    '/run',
    '/sys',
  ],
  ...[
    '/opt/homebrew',
    '/opt/local',
    '/home/linuxbrew',
    '/nix',
    '/gnu',
    '/snap',
    '/system',
    '/library',
    '/applications',
  ],
]

type Place = 'path' | 'system' | 'own' | 'elsewhere'

/** Where a program is: found in PATH, in a folder of the system, in one of the user, or where nobody would put a program. */
function placeOf(word: string, cwd: string | undefined): Place {
  if (!/[\\/]/.test(word)) return 'path'
  if (/^(?:\\\\|\/\/)/.test(word)) return 'elsewhere'
  const path = toAbsolute(word, cwd)
  if (path === undefined) return 'elsewhere'
  if (isWithinAny(path, ['/proc', '/dev'])) return 'elsewhere'
  const isSystem = isWithinAny(path, systemFolders) || /^[a-z]:\/(?:windows|program)/.test(path)
  return isSystem ? 'system' : 'own'
}

/** In lower case, because some file systems do not distinguish. A relative path may not leave a folder that is not known. */
function toAbsolute(word: string, cwd: string | undefined): string | undefined {
  if (isAbsolutePath(word)) return resolvePath(word).toLowerCase()
  if (cwd !== undefined) return isAbsolutePath(cwd) ? resolvePath(`${cwd}/${word}`).toLowerCase() : undefined
  const path = resolveRelative(word)
  return path === undefined ? undefined : `./${path}`.toLowerCase()
}

/** Programs that run commands of their arguments or of files, if they are not in a folder of the system. */
const commandRunners: ReadonlySet<string> = new Set([
  ...wrapperNames,
  ...powerShells,
  ...[
    'rbash',
    'rksh',
    'mksh',
    'csh',
    'tcsh',
    'elvish',
    'nu',
    'xonsh',
    'yash',
    'osascript',
    'wscript',
    'cscript',
    'mshta',
  ],
  ...[
    'sudo',
    'doas',
    'su',
    'pkexec',
    'runas',
    'gsudo',
    'rundll',
    'regsvr',
    'msbuild',
    'lldb-server',
    'toybox',
    'busybox',
  ],
  ...['ionice', 'flock', 'script', 'unshare', 'nsenter', 'setpriv', 'taskset', 'chrt', 'prlimit', 'strace', 'ltrace'],
  ...['chroot', 'fakeroot', 'parallel', 'watch', 'entr', 'expect', 'tmux', 'screen', 'socat', 'bwrap', 'firejail'],
  ...['find', 'fd', 'awk', 'gawk', 'mawk', 'sed', 'gsed', 'tar', 'gtar', 'git', 'ssh', 'scp', 'sftp', 'rsync', 'make'],
  ...[
    'gmake',
    'cmake',
    'ninja',
    'just',
    'task',
    'vi',
    'vim',
    'nvim',
    'ex',
    'emacs',
    'less',
    'man',
    'gdb',
    'lldb',
    'zip',
  ],
  ...['perl', 'ruby', 'php', 'lua', 'luajit', 'tclsh', 'wish', 'guile', 'r', 'rscript', 'julia', 'groovy', 'scala'],
  ...['kubectl', 'oc', 'vagrant', 'ansible', 'terraform', 'curl', 'wget', 'dd', 'cp', 'mv', 'rm', 'tee', 'install'],
  ...['npm', 'yarn', 'corepack', 'pip', 'poetry', 'hatch', 'conda', 'mamba', 'pixi', 'rye', 'cargo', 'tenon'],
  ...['shx', 'zx', 'concurrently', 'cross-env', 'cross-env-shell', 'dotenv', 'dotenv-cli', 'env-cmd', 'nodemon'],
  ...['npm-run-all', 'run-s', 'run-p', 'execa-cli', 'onchange', 'chokidar-cli', 'pm', 'forever', 'wait-on', 'rimraf'],
  // Programs of MCP that start the server of their arguments.
  ...['supergateway', 'mcp-proxy', 'mcpo', 'mcptools', 'mcp-inspector'],
])

/** The packages among them that have a scope. */
const commandPackages: ReadonlySet<string> = new Set(['@modelcontextprotocol/inspector', '@dotenvx/dotenvx'])

interface OptionRules {
  /** Options without a value. */
  readonly flags?: RegExp
  /** Options with a value, and which values are plain. */
  readonly values?: Readonly<Record<string, Pick<RegExp, 'test'>>>
}

interface ReadWords {
  readonly options: ReadonlyMap<string, string>
  readonly operands: Words
}

/** Reads options up to the first operand. Returns undefined if one is not known to be plain. */
function read(args: Words, { flags = /^$/, values = {} }: OptionRules): ReadWords | undefined {
  const options = new Map<string, string>()
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? ''
    if (word === '--') return { options, operands: args.slice(index + 1) }
    if (!word.startsWith('-')) return { options, operands: args.slice(index) }
    if (flags.test(word)) continue
    const [, name = word, inline] = /^(--[^=]+)=(.*)$/s.exec(word) ?? []
    const rule = Object.hasOwn(values, name) ? values[name] : undefined
    const value = inline ?? args[++index]
    if (rule === undefined || value === undefined || !rule.test(value)) return undefined
    options.set(name, value)
  }
  return { options, operands: [] }
}

const anything = /^[^-]/
const pythonVersion = /^\d[\d.]*$/

/** An interpreter with options, and a file of a kind. */
function fileOf(kind: RegExp, rules: OptionRules = {}): Form {
  return (args, { cwd }) => isFile(read(args, rules)?.operands[0], kind, cwd)
}

/** A file of code, not standard input, a device or a URL. */
function isFile(word: string | undefined, kind: RegExp, cwd: string | undefined): boolean {
  if (word === undefined || !kind.test(word) || /^(?:-|[a-z][\w+.-]+:)/i.test(word)) return false
  return isScriptPlace(word, cwd)
}

/** Scripts may be above the folder, but not among those of a package manager, which run commands. */
function isScriptPlace(word: string, cwd: string | undefined): boolean {
  const path = isAbsolutePath(word) || cwd === undefined ? word : `${cwd}/${word}`
  const plain = isAbsolutePath(path) ? resolvePath(path) : path.replaceAll('\\', '/')
  return (
    !/^(?:\\\\|\/\/)/.test(word) &&
    !isWithinAny(plain, ['/proc', '/dev']) &&
    !/(?:^|\/)(?:\.\.\/)+(?:proc|dev)\/|\/(?:npm|corepack|pnpm|yarn)\/|\/np[mx](?:-cli)?(?:\.js)?$/.test(plain)
  )
}

const javaScript = /\.[cm]?[jt]sx?$/
/** Options of Node.js that load no code. */
export const plainNodeOption =
  /^--(?:experimental-strip-types|experimental-transform-types|enable-source-maps|no-warnings|no-deprecation|trace-warnings|trace-deprecation|use-system-ca|max-old-space-size=\d+|stack-trace-limit=\d+|unhandled-rejections=[a-z-]+|dns-result-order=\w+)$/

const node = fileOf(/^(?!inspect$|debug$)./, { flags: plainNodeOption, values: { '--env-file': anything } })

function bun(args: Words, context: Context): boolean {
  const [first, ...rest] = args
  if (first === 'x') return bunx(rest, context)
  return isFile(first === 'run' ? rest[0] : first, javaScript, context.cwd)
}

function deno([first, ...rest]: Words, context: Context): boolean {
  const flags = /^(?:-[AqENRWS]|--quiet|--no-prompt|--cached-only|--(?:allow|deny)-[a-z]+(?:=.*)?)$/s
  const [target = '', ...args] = (first === 'run' && read(rest, { flags })?.operands) || []
  const spec = /^(?:jsr|npm):\/?(.+)$/.exec(target)?.[1]
  return spec === undefined ? isFile(target, javaScript, context.cwd) : isNpmPackage(spec, args, context)
}

/** Modules that come with Python, and run code or commands of their arguments. */
const pythonTools =
  /^(?:antigravity|ast|asyncio|bdb|cgi|cgitb|cprofile|code|codeop|compileall|concurrent|ctypes|curses|dis|distutils|doctest|encodings|ensurepip|ftplib|http|idlelib|imaplib|importlib|inspect|ipython|jupyter|lib2to3|multiprocessing|os|pdb|pickle|pickletools|pip|pipx|platform|poplib|profile|profiling|pty|py_compile|pydoc|pytest|runpy|shlex|site|smtpd|socketserver|sqlite3|subprocess|sysconfig|tarfile|telnetlib|test|this|timeit|tkinter|trace|turtle|turtledemo|unittest|uv|venv|virtualenv|webbrowser|wsgiref|xmlrpc|zipapp|zipfile)(?:\.|$)/i

function python(args: Words, { cwd }: Context): boolean {
  const flags = /^-[uBEIsOq]+$/
  const words = args.slice(leadingFlags(args, flags))
  if (words[0] === '-m') return /^[A-Za-z_][\w.]*$/.test(words[1] ?? '') && !pythonTools.test(words[1] ?? '')
  return isFile(words[0], /./, cwd)
}

function leadingFlags(args: Words, flags: RegExp): number {
  const end = args.findIndex((arg) => !flags.test(arg))
  return end < 0 ? args.length : end
}

const npmSpec = /^(?:@[\w.-]+\/)?[\w.-]+(?:@[\w.^~<>=*+-]+)?$/
const pythonSpec =
  /^(?:[A-Za-z\d][\w.-]*(?:\[[\w.,-]+\])?(?:(?:[=<>!~]=|[<>@])[\w.*+!-]+(?:,(?:[=<>!~]=|[<>])[\w.*+!-]+)*)?|git\+https:\/\/[\w.-]+\/[\w./-]+@[\da-f]{40})$/

/** A package of npm without its version is also the name of its program. */
function isNpmPackage(spec: string, args: Words, context: Context): boolean {
  if (!npmSpec.test(spec) || /^\.|^-/.test(spec)) return false
  return isPackage(spec.replace(/(?<=.)@.*$/, ''), args, context)
}

/** A package that is an interpreter, such as `tsx` or `python`, is judged as one. */
function isPackage(name: string, args: Words, context: Context): boolean {
  if (commandPackages.has(name)) return false
  const known = baseName(name)
  if (!name.startsWith('@') && (forms.has(known) || commandRunners.has(known))) return isPlain([name, ...args], context)
  return isPlainAfterDashes(args, { ...context, depth: context.depth + 1 })
}

/** With the option, the program may be any one in PATH, so it has to have a name of the package. */
function isProgramOf(spec: string, program: string, args: Words, context: Context): boolean {
  const plain = spec.replace(/^git\+.*\/|(?<=.)[@=<>!~[].*$/g, '')
  const isOwn = plain.split('/').at(-1)?.toLowerCase() === program.toLowerCase()
  return isOwn && !/[\\/]/.test(program) ? isPackage(program, args, context) : isPlain([program, ...args], context)
}

/** A program that downloads a package and runs it. */
function runnerOf(spec: RegExp, from: readonly string[], rules: OptionRules): Form {
  return (args, context) => {
    const found = read(args, rules)
    const [first = '', ...rest] = found?.operands ?? []
    if (!found || first === '') return false
    const source = from.map((name) => found.options.get(name)).find((value) => value !== undefined)
    if (source !== undefined) return isProgramOf(source, first, rest, context)
    if (spec === npmSpec) return isNpmPackage(first, rest, context)
    return spec.test(first) && !first.startsWith('git+') && isPackage(nameOf(first), rest, context)
  }
}

function nameOf(spec: string): string {
  return /^[\w.-]+/.exec(spec)?.[0] ?? spec
}

const npmRules: OptionRules = {
  flags: /^(?:-[yq]|--yes|--quiet|--silent|--no|--no-install|--bun|--prefer-offline|--prefer-online|--offline)$/,
  values: { '-p': npmSpec, '--package': npmSpec },
}
const npx = runnerOf(npmSpec, ['-p', '--package'], npmRules)
const bunx = runnerOf(npmSpec, ['-p', '--package'], npmRules)
const uvx = runnerOf(pythonSpec, ['--from'], {
  flags: /^(?:-q|--quiet|--refresh|--isolated|--no-cache|--offline|--no-progress)$/,
  values: { '--from': pythonSpec, '--with': pythonSpec, '--python': pythonVersion, '-p': pythonVersion },
})
const pipxRun = runnerOf(pythonSpec, ['--spec'], { flags: /^(?:-q|--quiet)$/, values: { '--spec': pythonSpec } })

function uv(args: Words, context: Context): boolean {
  const folders = { '--directory': anything, '--project': anything }
  const quiet = /^(?:-q|--quiet|--offline|--no-cache|--no-progress)$/
  const [first, ...rest] = read(args, { flags: quiet, values: folders })?.operands ?? []
  if (first === 'tool' && rest[0] === 'run') return uvx(rest.slice(1), context)
  if (first !== 'run') return false
  const flags = /^(?:-q|--quiet|--no-project|--frozen|--locked|--no-sync|--no-dev|--isolated|--offline|--active)$/
  const values = {
    ...folders,
    '--with': pythonSpec,
    '--python': pythonVersion,
    '-p': pythonVersion,
    '--extra': anything,
  }
  const words = read(rest, { flags, values })?.operands ?? []
  return isFile(words[0], /\.py$/, context.cwd) || isPlain(words, context)
}

/** A form that needs a first word. */
function after(words: readonly string[], form: Form): Form {
  return ([first = '', ...rest], context) => words.includes(first) && form(rest, context)
}

/** Options of a container that do not give it more of this machine. What they mount is looked at separately. */
const containerRules: OptionRules = {
  flags:
    /^(?:-[itd]+|--(?:interactive|tty|rm|init|read-only|quiet)(?:=true)?|--pull=\w+|--cap-drop=\w+|--userns=keep-id)$/,
  values: Object.fromEntries(
    [
      ...['-e', '--env', '--env-file', '--name', '--pull', '-p', '--publish', '--platform', '-u', '--user', '--tmpfs'],
      ...['-m', '--memory', '--cpus', '--pids-limit', '--cap-drop', '-w', '--workdir', '-l', '--label', '--hostname'],
      ...['--entrypoint', '--add-host', '--stop-timeout', '--network', '--net'],
    ].map((name) => [name, anything]),
  ),
}

const containers = after(['run'], (args) => {
  const volume = { test: isPlainVolume }
  const values = { ...containerRules.values, '-v': volume, '--volume': volume, '--mount': { test: isPlainMount } }
  const security = { '--security-opt': /^no-new-privileges(?:[:=]true)?$/ }
  const image = read(args, { ...containerRules, values: { ...values, ...security } })?.operands[0] ?? ''
  return /^[a-z\d][\w./:@-]*$/i.test(image)
})

const go = after(['run'], ([target = ''], { cwd }) =>
  /^[\w.-]+\.[\w.-]+\/[\w./-]+@v?[\w.+-]+$/.test(target) ? true : isFile(target, /\.go$|^\.\.?(?:\/|$)/, cwd),
)

/** Options of Java that only set how much memory it uses. */
export const plainJavaOption = /^-X(?:mx|ms|ss)\d+[kmgKMG]?$/

function java(args: Words, { cwd }: Context): boolean {
  const words = args.slice(leadingFlags(args, plainJavaOption))
  return words[0] === '-jar' && isFile(words[1], /\.jar$/, cwd)
}

function dotnet([first, ...rest]: Words, { cwd }: Context): boolean {
  if (first !== 'run') return isFile(first, /\.dll$/, cwd)
  const rules = {
    flags: /^--no-(?:build|restore)$/,
    values: { '--project': anything, '-c': /^\w+$/, '--configuration': /^\w+$/ },
  }
  return (read(rest, rules)?.operands.length ?? 1) === 0 || rest.includes('--')
}

/** How Windows starts scripts such as npx. */
function windowsShell(args: Words, context: Context): boolean {
  const at = leadingFlags(args, /^\/[ds]$/i)
  const isSpecial = args.some((arg) => /[&|<>^%!"\n]/.test(arg))
  return /^\/c$/i.test(args[at] ?? '') && !isSpecial && isPlain(args.slice(at + 1), context)
}

/** Adds secrets to the environment of the command after the two dashes. */
const op = after(['run'], (args, context) => {
  const found = read(args, { flags: /^--no-masking$/, values: { '--env-file': anything } })
  return found !== undefined && isPlain(found.operands, context)
})

const shell = (args: Words, { cwd }: Context): boolean =>
  leadingOptions(args).length === 0 && isFile(args[0], /\.(?:sh|bash|zsh|fish)$/, cwd)

const script = fileOf(javaScript)

const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
  ...[...shells].map((name): [string, Form] => [name, shell]),
  ['node', node],
  ['nodejs', node],
  ['tsx', script],
  ['ts-node', script],
  ['bun', bun],
  ['deno', deno],
  ['python', python],
  ['pythonw', python],
  ['py', python],
  ['npx', npx],
  ['pnpx', npx],
  ['bunx', bunx],
  ['npm', after(['exec', 'x'], npx)],
  ['pnpm', after(['dlx'], npx)],
  ['yarn', after(['dlx'], npx)],
  ['uvx', uvx],
  ['uv', uv],
  ['pipx', after(['run'], pipxRun)],
  ['docker', containers],
  ['podman', containers],
  ['nerdctl', containers],
  ['go', go],
  ['java', java],
  ['dotnet', dotnet],
  ['cmd', windowsShell],
  ['op', op],
])
