import type { Finding } from '../findings/finding.ts'
import { leadingOptions, powerShells, type SimpleCommand, scriptOf, shells } from './commands.ts'
import { containerRule } from './container-rules.ts'
import { danger } from './danger.ts'
import type { Launch } from './sandbox.ts'
import { isHome, isWholeDisk, privateFiles } from './sensitive-paths.ts'

type Rule = (command: SimpleCommand) => Finding | readonly Finding[] | undefined

/** What is dangerous about a single command. */
export const commandRules: readonly Rule[] = [
  shellScript,
  inlineCode,
  otherRights,
  removal,
  permissions,
  decoding,
  containerRule,
]

function shellScript(command: SimpleCommand): Finding | undefined {
  if (scriptOf(command) === undefined) return undefined
  return danger('high', 'Runs a shell script given on the command line. Read all of it.', command.text)
}

/** The options by which interpreters take code as an argument, and those before them that have a value. */
const codeOptions = new Map<string, { readonly code: RegExp; readonly valued?: readonly string[] }>([
  [
    'node',
    { code: /^(?:-e|-p|-pe|--eval|--print)(?:=|$)/, valued: ['--title', '-C', '--conditions', '-r', '--require'] },
  ],
  ['bun', { code: /^(?:-e|-p|--eval|--print)(?:=|$)/ }],
  ['tsx', { code: /^(?:-e|-p|--eval|--print)(?:=|$)/ }],
  ['python', { code: /^-[A-Za-z]*c/, valued: ['-W', '-X', '--check-hash-based-pycs'] }],
  ['perl', { code: /^-[A-Za-z]*[eE]/ }],
  ['ruby', { code: /^-e/ }],
  ['php', { code: /^-r/ }],
])

/** Words by which code starts programs, uses the network or hides more code. */
const suspiciousCode =
  /\b(?:exec|execSync|execFile|eval|spawn|spawnSync|system|popen|subprocess|child_process|urllib|urlopen|requests|https?|fetch|base64|b64decode|socket|atob)\b/

function inlineCode({ program, args, text }: SimpleCommand): Finding | undefined {
  const option = codeOptions.get(program.replace(/^python[\d.]+$/, 'python'))
  const hasCode = option !== undefined && leadingOptions(args, option.valued).some((arg) => option.code.test(arg))
  if (!hasCode && !(program === 'deno' && args[0] === 'eval')) return undefined
  // `-esystem(...)`: the code may follow the letter at once.
  const code = args.map((arg) => arg.replace(/^-[A-Za-z]*?[ceErp](?=\w)/, ' ')).join(' ')
  const isSuspicious = [code, args.join(' ')].some((each) => suspiciousCode.test(each.slice(0, 20_000)))
  const severity = isSuspicious ? 'high' : 'low'
  return danger(severity, 'Runs code given on the command line. Read all of it.', text)
}

const otherUsers = new Set(['sudo', 'doas', 'su', 'pkexec', 'runas', 'gsudo'])

function otherRights({ program, text }: SimpleCommand): Finding | undefined {
  return otherUsers.has(program)
    ? danger('high', 'Runs with the rights of another user, usually root.', text)
    : undefined
}

function removal({ program, args, text }: SimpleCommand): Finding | undefined {
  const options = args.filter((arg) => /^[-/]/.test(arg)).map((arg) => arg.toLowerCase())
  const isRemoval =
    (program === 'rm' && hasFlag(options, 'r', '--recursive') && hasFlag(options, 'f', '--force')) ||
    (['del', 'erase', 'rd', 'rmdir'].includes(program) && options.includes('/s')) ||
    (program === 'remove-item' && options.some((option) => option.startsWith('-r'))) ||
    /^(?:mkfs(?:\..*)?|shred|wipefs)$/.test(program)
  return isRemoval ? danger('high', 'Deletes files and folders without asking.', text) : undefined
}

function hasFlag(options: readonly string[], letter: string, long: string): boolean {
  return options.some((option) => option === long || (/^-[a-z]+$/.test(option) && option.includes(letter)))
}

function permissions({ program, args, text }: SimpleCommand): Finding | undefined {
  const opens =
    program === 'chmod' &&
    args.some((arg) => /^(?:[0-7]?[0-7][0-7][2367]|[augo]*[+=][rwx]*s|[ao]+[+=][rx]*w[rx]*)$/.test(arg))
  return opens
    ? danger('high', 'Lets every user of the machine change files, or run them with other rights.', text)
    : undefined
}

function decoding({ program, args, text }: SimpleCommand): Finding | undefined {
  const isDecoding =
    (program === 'base64' && args.some((arg) => /^(?:-[a-z]*d[a-z]*|--decode)$/i.test(arg))) ||
    (program === 'openssl' && args.includes('-d')) ||
    (program === 'certutil' && args.some((arg) => /^[-/]decode/i.test(arg))) ||
    (powerShells.has(program) && args.some((arg) => /^-e(?:c|nc\w*)?$/i.test(arg)))
  return isDecoding ? danger('high', 'Decodes hidden content, which may be a program.', text) : undefined
}

const downloaders = new Set(['curl', 'wget', 'aria2c', 'iwr', 'irm', 'invoke-webrequest', 'invoke-restmethod'])
const interpreters = /^(?:python[\d.]*|node|bun|deno|perl|ruby|php|iex|invoke-expression)$/

/** Finds a download that is piped into a shell. */
export function pipelineFindings(parts: readonly SimpleCommand[]): Finding[] {
  const from = parts.findIndex(({ program }) => downloaders.has(program))
  const isRun = from >= 0 && parts.slice(from + 1).some(runsInput)
  return isRun ? [danger('high', downloaded, parts.map(({ text }) => text).join(' | '))] : []
}

const downloaded = 'Downloads a program and runs it at once.'

function runsInput({ program, args }: SimpleCommand): boolean {
  const name = otherUsers.has(program) ? (args.find((arg) => !arg.startsWith('-')) ?? '') : program
  return shells.has(name) || powerShells.has(name) || interpreters.test(name)
}

/** Finds patterns that count in every argument, whichever program it belongs to. */
export function argumentFindings({ command, args }: Launch): Finding[] {
  const isContainer = /(?:^|[\\/])(?:docker|podman|nerdctl)(?:\.exe)?$/.test(command)
  const places = isContainer ? [] : args.flatMap((arg) => placeFinding(arg) ?? [])
  return [...args.flatMap((arg) => textFindings(arg)), ...places, ...windowsShell(command, args)]
}

function textFindings(arg: string): Finding[] {
  const findings: Finding[] = []
  if (/(?:\$\(|`|<\(|\()\s*(?:curl|wget|iwr|irm)\s/.test(arg)) findings.push(danger('high', downloaded, arg))
  if (
    /\/dev\/(?:sd[a-z]|hd[a-z]|vd[a-z]|nvme\d|mmcblk\d|r?disk\d|mem\b|kmem\b|mapper\/)|\\\\\.\\PhysicalDrive/i.test(arg)
  )
    findings.push(danger('high', 'Uses a disk or the memory of the machine directly.', arg))
  const secret = privateFiles(arg)
  if (secret !== undefined) findings.push(danger('high', `Has access to ${secret}.`, arg))
  return findings
}

function placeFinding(arg: string): Finding | undefined {
  if (isWholeDisk(arg)) return danger('low', 'The server can access the whole disk.', arg)
  return isHome(arg) ? danger('low', 'The server can access a whole home directory.', arg) : undefined
}

/** `cmd /c` starts ordinary programs on Windows, so only what it would interpret is suspicious. */
function windowsShell(command: string, args: readonly string[]): Finding[] {
  const isShell = /(?:^|[\\/])cmd(?:\.exe)?$/i.test(command)
  const special = isShell ? args.find((arg) => /[&|<>^]/.test(arg)) : undefined
  return special === undefined
    ? []
    : [danger('high', 'Runs a shell script given on the command line. Read all of it.', args.join(' '))]
}
