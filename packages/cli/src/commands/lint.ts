import { type Command, Option } from 'commander'
import type { Tool } from 'tenon'
import { type ToolFormat, toolsFor } from 'tenon/host'
import { safeJson, safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import { readContract } from '../contract/contract.ts'
import { addTarget, findTarget, type TargetFlags } from '../contract/target-command.ts'
import { exitCodes } from '../exit-codes.ts'
import { lint as findProblems } from '../lint/lint.ts'
import { countProblems, type LintReport, viewReport } from '../lint/report.ts'
import { estimateTokens } from '../lint/size.ts'
import { createOutput, type Output } from '../output.ts'
import { openTarget } from '../target.ts'

interface LintFlags extends TargetFlags {
  strict?: boolean
  ignore?: string[]
  name?: string
  schemas?: ToolFormat
}

const formats: readonly ToolFormat[] = ['anthropic', 'openai', 'openai-responses', 'ai-sdk']

/** Registers `tenon lint`: checks the definitions of a server against the limits of hosts and model APIs. */
export function registerLint(program: Command): void {
  const command = program
    .command('lint')
    .description('check names, descriptions and schemas against the limits of hosts and model APIs')
    .addHelpText('before', 'Example: tenon lint node server.js\n')
  addTarget(command)
  command
    .option('--strict', 'fail for warnings too')
    .option('--ignore <rule>', 'leave out a rule (repeatable)', (rule: string, before: string[] = []) => [
      ...before,
      rule,
    ])
    .option('--name <name>', 'the name of the server in hosts, which put it in front of tool names')
    .addOption(
      new Option('--schemas <format>', 'print the tools as a model API takes them, and what had to change').choices(
        formats,
      ),
    )
  command.action((words: string[], flags: LintFlags) => lint(words, flags, program))
}

async function lint(words: string[], flags: LintFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const target = findTarget(words, flags, program, output)
  await using client = await openTarget(target, flags)
  const read = await readContract(client)
  const { server, tools, revision } = read.contract
  if (flags.schemas !== undefined) return printSchemas(flags.schemas, tools, output)
  const serverName = flags.name ?? (target.source === undefined ? (server?.name ?? target.id) : target.id)
  const problems = findProblems({ ...read, serverName }, flags.ignore)
  const counts = countProblems(problems)
  const ok = counts.error === 0 && (!flags.strict || counts.warning === 0)
  const report: LintReport = {
    server,
    revision,
    ok,
    tools: tools.length,
    tokens: estimateTokens(tools),
    counts,
    problems,
  }
  if (output.isJson) output.printJson(report)
  else output.print(...viewReport(report, output))
  if (!ok) process.exitCode = exitCodes.checkFailed
}

/** The tools are the result; what had to be changed is a message, unless everything is one document. */
function printSchemas(format: ToolFormat, tools: readonly Tool[], output: Output): void {
  const { tools: converted, notes } = toolsFor(format, tools)
  const printable = Array.isArray(converted) ? converted : plainTools(converted)
  if (output.isJson) return output.printJson({ format, tools: printable, notes })
  output.print(safeJson(printable))
  for (const { tool = 'all tools', path, message } of notes)
    output.note(...wrap(safeLine(`${tool}${path}: ${message}`), output.width))
}

/** The schemas of the AI SDK are objects with functions. Only the JSON Schema can be printed. */
function plainTools(tools: ReturnType<typeof toolsFor<'ai-sdk'>>['tools']): unknown {
  return Object.fromEntries(
    Object.entries(tools).map(([name, { description, inputSchema }]) => [
      name,
      { description, inputSchema: inputSchema.jsonSchema },
    ]),
  )
}
