import type { Command } from 'commander'
import type { Tool } from 'tenon'
import type { Client } from 'tenon/client'
import { safeText } from 'tenon/internal'
import { parseArgumentWords, readArgs } from '../arguments/parse-words.ts'
import { findTool } from '../call/find-tool.ts'
import { withInterrupt } from '../call/interrupt.ts'
import { ProgressLine } from '../call/progress-line.ts'
import { questionHandlers } from '../call/question-handlers.ts'
import { describeTask } from '../call/task-view.ts'
import { wrap } from '../columns.ts'
import { connectTarget } from '../connect-target.ts'
import { usageError } from '../exit-codes.ts'
import { rememberTools } from '../known-tools.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput, type Output, proseWidth } from '../output.ts'
import type { ContentFlags } from '../results/show-content.ts'
import { showToolResult } from '../results/tool-result.ts'
import type { TargetWords } from '../target.ts'
import { splitWords } from '../words.ts'

interface CallFlags extends CommonFlags, ContentFlags {
  args?: string
  task?: boolean
}

/** Registers `tenon call`: calls a tool and prints its result. */
export function registerCall(program: Command): void {
  const command = program
    .command('call')
    .description('call a tool and print its result')
    .addHelpText(
      'before',
      'Example: tenon call https://example.com/mcp add a=1 b=2\n         tenon call add a=1 b=2 -- node server.js\n',
    )
    .argument('[target]', 'a URL, a file, or the name of a server in a config file; a command follows "--"')
    .argument('[tool]', 'the name of a tool')
    .argument('[key=value...]', 'its arguments; key:=json for JSON')
    .option('--args <json>', 'arguments as a JSON object, or "-" to read it from stdin')
    .option('--output <folder>', 'save images, audio and other files there')
    .option('--raw', 'print exactly what the server sent')
    .option('--task', 'run it as a task, and print the id instead of the result')
  addCommonOptions(command)
  command.action(() => call(command.args, command.opts<CallFlags>(), program))
}

async function call(words: readonly string[], flags: CallFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const { target, rest } = splitWords(words, program)
  const [name, ...pairs] = rest
  if (name === undefined) throw usageError('No tool was named.', 'Write: tenon call <target> <tool> key=value')
  const given = await readArgs(flags.args)
  let line: ProgressLine | undefined
  const handlers = questionHandlers(flags.color, () => line)
  const note = (...lines: string[]) => (line ?? output).note(...lines)
  await using client = await connectTarget(target, flags, output, { tasks: true, note, ...(handlers && { handlers }) })
  const tool = await findTool(client, name)
  const args = parseArgumentWords(pairs, tool.inputSchema, given)
  rememberTools(target, flags, [tool])
  line = new ProgressLine(name, output)
  if (flags.task) return await startTask({ client, name, args, line, output, target, flags, tool })
  const result = await runCall({ client, name, args, line })
  showToolResult(result, output, flags, name)
}

interface Call {
  readonly client: Client
  readonly name: string
  readonly args: Record<string, unknown>
  readonly line: ProgressLine
}

/** A task of the server is waited for like a call. */
async function runCall({ client, name, args, line }: Call) {
  client.on('task', ({ status, statusMessage }) => line.setStatus(statusMessage ?? `task ${status}`))
  return withInterrupt(`the call of "${name}"`, line, (signal) =>
    client.callTool(name, args, { signal, onProgress: (progress) => line.onProgress(progress) }),
  )
}

interface TaskStart extends Call {
  readonly output: Output
  readonly target: TargetWords
  readonly flags: CallFlags
  readonly tool: Tool
}

async function startTask({ client, name, args, line, output, target, flags, tool }: TaskStart): Promise<void> {
  const handle = await withInterrupt(`the call of "${name}"`, line, (signal) =>
    client.callToolAsTask(name, args, { signal }),
  )
  if (handle.id === undefined) {
    output.note(...wrap(whyNoTask(tool, client), proseWidth(output.width)))
    return showToolResult(await handle.result(), output, flags, name)
  }
  if (output.isJson) return output.printJson({ task: describeTask(handle) })
  output.print(safeText(handle.id))
  const words = target.isCommand ? `${handle.id} -- ${target.words.join(' ')}` : `${target.words[0]} ${handle.id}`
  output.note(`Watch it with: tenon task ${safeText(words)}`)
}

/** A server may answer a call at once although the tool can run as a task. */
function whyNoTask({ execution }: Tool, client: Client): string {
  const support = execution?.taskSupport
  if (support === 'optional' || support === 'required')
    return 'The tool finished at once, so the server started no task. This is its result:'
  const { tasks, extensions } = client.server.capabilities
  const hasTasks = tasks !== undefined || extensions?.[taskExtension] !== undefined
  if (!hasTasks) return 'The server has no tasks, so it called the tool as usual. This is its result:'
  return 'This tool cannot run as a task (its "taskSupport" is not set), so the server called it as usual. This is its result:'
}

const taskExtension = 'io.modelcontextprotocol/tasks'
