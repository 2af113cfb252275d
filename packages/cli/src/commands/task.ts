import type { Command } from 'commander'
import type { Client, TaskHandle } from 'tenon/client'
import { safeLine } from 'tenon/internal'
import { withInterrupt } from '../call/interrupt.ts'
import { ProgressLine } from '../call/progress-line.ts'
import { questionHandlers } from '../call/question-handlers.ts'
import { describeTask } from '../call/task-view.ts'
import { connectTarget } from '../connect-target.ts'
import { usageError } from '../exit-codes.ts'
import { addCommonOptions, type CommonFlags } from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import type { ContentFlags } from '../results/show-content.ts'
import { showToolResult } from '../results/tool-result.ts'
import { splitWords } from '../words.ts'

interface TaskFlags extends CommonFlags, ContentFlags {
  cancel?: boolean
}

/** Registers `tenon task`: watches a task, answers its questions, prints its result, or cancels it. */
export function registerTask(program: Command): void {
  const command = program
    .command('task')
    .description('watch a task, answer its questions and print its result')
    .addHelpText('before', 'Example: tenon task https://example.com/mcp 786512e2-9e0d-44bd\n')
    .argument('[target]', 'a URL, a file, or the name of a server in a config file; a command follows "--"')
    .argument('[id]', 'the id of the task')
    // The words of a command after "--".
    .allowExcessArguments()
    .option('--cancel', 'cancel the task')
    .option('--output <folder>', 'save images, audio and other files there')
    .option('--raw', 'print exactly what the server sent')
  addCommonOptions(command)
  command.action(() => task(command.args, command.opts<TaskFlags>(), program))
}

async function task(words: readonly string[], flags: TaskFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const { target, rest } = splitWords(words, program)
  const [id, extra] = rest
  if (id === undefined) throw usageError('No task was named.', 'Write: tenon task <target> <id>')
  if (extra !== undefined) throw usageError(`Unexpected argument after the id of the task: ${extra}`)
  let line: ProgressLine | undefined
  const handlers = questionHandlers(flags.color, () => line)
  const note = (...lines: string[]) => (line ?? output).note(...lines)
  await using client = await connectTarget(target, flags, output, { tasks: true, note, ...(handlers && { handlers }) })
  const handle = client.resumeTask(id)
  if (flags.cancel) return await cancel(handle, output)
  line = new ProgressLine('task', output)
  showToolResult(await watch(client, handle, line), output, flags, 'task')
}

async function watch(client: Client, handle: TaskHandle, line: ProgressLine) {
  client.on('task', ({ status, statusMessage }) => line.setStatus(statusMessage ?? status))
  return withInterrupt('the task', line, async (signal) => {
    const stop = () => void handle.cancel().catch(() => {})
    signal.addEventListener('abort', stop)
    return handle.result()
  })
}

async function cancel(handle: TaskHandle, output: Output): Promise<void> {
  await handle.cancel()
  // The task may still have ended in another way.
  for await (const _state of handle) if (handle.status !== 'working') break
  if (output.isJson) return output.printJson({ task: describeTask(handle) })
  output.print(`The task is ${safeLine(handle.status)}.`)
}
