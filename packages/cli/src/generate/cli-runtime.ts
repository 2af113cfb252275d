/**
 * The part of a generated command line that is the same for every server. It follows the constants `name`, `target` and `tools`,
 * and needs only `tenon` and Node.js.
 */
export const cliRuntime = String.raw`
const common = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  args: { type: 'string' },
  server: { type: 'string' },
  timeout: { type: 'string' },
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(visible(name + ': ' + (error instanceof Error ? error.message : String(error))))
  process.exitCode = error instanceof UsageError || error?.code?.startsWith?.('ERR_PARSE_ARGS') ? 2 : 1
}

/** Runs the command line, and returns the exit code. */
async function main(words) {
  const [command, ...rest] = words
  if (command === undefined || command === 'help' || command === '--help' || command === '-h') return printCommands()
  const tool = tools.find((candidate) => candidate.command === command)
  if (!tool) throw new UsageError('Unknown command: ' + command + '. "help" lists the commands.')
  const { values } = parseArgs({ args: rest, options: optionsOf(tool), allowPositionals: false })
  if (values.help) return printHelp(tool)
  const client = await connect(values.server === undefined ? target : parseServer(values.server), connectOptions(values))
  try {
    const result = await client.callTool(tool.name, readArguments(tool, values))
    print(values.json ? JSON.stringify(result, null, 2) : result.text || JSON.stringify(result.structuredContent ?? result.content, null, 2))
    return result.isError ? 1 : 0
  } finally {
    await client.close()
  }
}

function connectOptions({ timeout }) {
  if (timeout === undefined) return {}
  const timeoutMs = Number(timeout) * 1_000
  if (!(timeoutMs > 0)) throw new UsageError('--timeout takes a number of seconds.')
  return { connectTimeoutMs: timeoutMs, request: { timeoutMs } }
}

/** A URL, or a command whose words are separated by spaces. */
function parseServer(text) {
  if (/^https?:\/\//i.test(text)) return text
  const [command, ...args] = text.split(/\s+/).filter((word) => word !== '')
  if (command === undefined) throw new UsageError('--server takes a URL or a command.')
  return { command, args }
}

function optionsOf(tool) {
  const options = Object.fromEntries(Object.entries(common))
  for (const { flag, type } of tool.flags) {
    options[flag] = { type: type === 'boolean' ? 'boolean' : 'string', multiple: type.endsWith('[]') }
    if (type === 'boolean') options['no-' + flag] = { type: 'boolean' }
  }
  return options
}

function readArguments(tool, values) {
  const entries = Object.entries(values.args === undefined ? {} : parseObject(values.args))
  const args = new Map(entries)
  for (const { flag, key, type } of tool.flags) {
    if (values[flag] !== undefined) args.set(key, readValue(flag, type, values[flag]))
    else if (values['no-' + flag]) args.set(key, false)
  }
  const missing = tool.flags.filter(({ key, required }) => required && !args.has(key))
  if (missing.length > 0) throw new UsageError('Missing: ' + missing.map(({ flag }) => '--' + flag).join(', '))
  return Object.fromEntries(args)
}

function parseObject(text) {
  const value = parseJson('args', text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new UsageError('--args takes a JSON object.')
}

function readValue(flag, type, value) {
  if (type.endsWith('[]')) return value.map((item) => readValue(flag, type.slice(0, -2), item))
  if (type === 'boolean' || type === 'string') return value
  if (type === 'json') return parseJson(flag, value)
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number)) throw new UsageError('--' + flag + ' takes a number.')
  return number
}

function parseJson(flag, text) {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError('--' + flag + ' takes JSON.')
  }
}

function printCommands() {
  const width = Math.max(...tools.map(({ command }) => command.length), 0)
  print('Usage: ' + name + ' <command> [options]\n')
  for (const { command, description } of tools) print(fit('  ' + command.padEnd(width) + '  ' + firstLine(description)))
  print('\nOptions of every command: --help, --json, --args <json>,')
  print('  --server <url or command>, --timeout <seconds>')
  return 0
}

function printHelp(tool) {
  print('Usage: ' + name + ' ' + tool.command + ' [options]\n')
  if (tool.description !== '') print(tool.description + '\n')
  for (const { flag, type, required, description } of tool.flags) {
    const value = type === 'boolean' ? '' : ' <' + type + '>'
    print('  --' + flag + value + (required ? ' (required)' : '') + (description === '' ? '' : '  ' + firstLine(description)))
  }
  return 0
}

function fit(line) {
  return line.length > 80 ? line.slice(0, 79).trimEnd() + '…' : line
}

function firstLine(text) {
  const line = text.trim().split('\n')[0] ?? ''
  return line.length > 100 ? line.slice(0, 99) + '…' : line
}

function print(text) {
  console.log(visible(text))
}

/** Text of a server could contain characters that a terminal acts on. */
function visible(text) {
  return text.replace(/[^\P{C}\n\t]/gu, (char) => '<U+' + char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '>')
}
`
