import type { Command } from 'commander'
import { safeText } from 'tenon/internal'
import { explainAuth } from '../auth/explain/explain.ts'
import { viewStep } from '../auth/explain/explain-view.ts'
import { wrap } from '../columns.ts'
import { CliError, exitCodes } from '../exit-codes.ts'
import {
  addColorOption,
  addHostTargetOptions,
  addJsonOption,
  type ConfigFlags,
  type ConnectionFlags,
  type OutputFlags,
} from '../options.ts'
import { createOutput } from '../output.ts'
import { urlOf } from '../target.ts'

interface ExplainFlags extends OutputFlags, ConfigFlags, ConnectionFlags {
  login?: boolean
  browser: boolean
  clientId?: string
}

/** Registers `tenon auth explain`: shows each step of discovery and login, and what is wrong with it. */
export function registerAuth(program: Command): void {
  const auth = program
    .command('auth')
    .description('explain the authorization of a server')
    .addHelpText('before', 'Example: tenon auth explain https://example.com/mcp\n')
  const command = auth
    .command('explain')
    .description('show each step of discovery and login, with what was expected and found')
    .addHelpText('before', 'Example: tenon auth explain https://example.com/mcp\n')
    .argument('<url>', 'the URL of a server, or its name in a config file')
    .option('--login', 'log in as well (nothing is stored)')
    .option('--client-id <id>', 'a client that you registered at the authorization server')
    .option('--no-browser', 'print the URL of the login page instead of opening it')
  addHostTargetOptions(command)
  addJsonOption(command)
  addColorOption(command)
  command.action((word: string, flags: ExplainFlags) => explain(word, flags))
}

async function explain(word: string, flags: ExplainFlags): Promise<void> {
  const output = createOutput(flags)
  const { url, headers } = urlOf(word, flags)
  const explanation = await explainAuth(url, {
    headers,
    timeoutMs: flags.timeout ?? 15_000,
    login: flags.login === true,
    opensBrowser: flags.browser,
    clientId: flags.clientId,
    output,
    onStep: (step) => {
      if (!output.isJson) output.print(...viewStep(step, output), '')
    },
  })
  const { verdict, summary, steps } = explanation
  if (steps.length === 1 && steps[0]?.request?.status === null) {
    throw new CliError('http', `Cannot reach ${url}: ${steps[0].found}`, { exitCode: exitCodes.connection })
  }
  if (output.isJson) output.printJson(explanation)
  else output.print(...wrap(safeText(summary, 4_000), output.width).map((line) => output.paint.strong(line)))
  if (verdict === 'broken') process.exitCode = exitCodes.checkFailed
}
