import { Argument, type Command } from 'commander'
import { scripts, shells } from '../completion/scripts.ts'
import { suggest } from '../completion/suggest.ts'
import { usageError } from '../exit-codes.ts'
import { addColorOption } from '../options.ts'

interface CompletionFlags {
  words?: boolean
}

/** Registers `tenon completion`: prints the script that completes commands in a shell. */
export function registerCompletion(program: Command): void {
  const command = program
    .command('completion')
    .description('print the script that completes commands, options, servers and tools in a shell')
    .addHelpText(
      'before',
      'Example: tenon completion bash\n\nbash: eval "$(tenon completion bash)"     in ~/.bashrc\nzsh:  eval "$(tenon completion zsh)"      in ~/.zshrc\nfish: tenon completion fish | source      in ~/.config/fish/config.fish\n',
    )
    .addArgument(new Argument('[shell]', 'the shell: bash, zsh or fish'))
    .option('--words', 'suggest how the words after "--" go on, for the scripts')
    .allowExcessArguments()
  addColorOption(command)
  command.action(() => complete(command.args, command.opts<CompletionFlags>()))
}

async function complete(words: readonly string[], { words: isAsked }: CompletionFlags): Promise<void> {
  if (isAsked) {
    const found = await suggest(words)
    if (found.length > 0) process.stdout.write(`${found.join('\n')}\n`)
    return
  }
  const shell = shells.find((each) => each === words[0])
  if (!shell)
    throw usageError(`No script for the shell: ${words[0] ?? 'none was given'}`, `Choose ${shells.join(', ')}.`)
  process.stdout.write(scripts[shell])
}
