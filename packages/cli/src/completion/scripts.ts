/** Shells that have a script. */
export const shells = ['bash', 'zsh', 'fish'] as const

/** The scripts ask `tenon completion --words` for suggestions, so they need not change with the commands. */
export const scripts: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `# Put this into ~/.bashrc: eval "$(tenon completion bash)"
_tenon() {
  local IFS=$'\\n'
  COMPREPLY=($(tenon completion --words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o default -F _tenon tenon
`,
  zsh: `# Put this into ~/.zshrc, after compinit: eval "$(tenon completion zsh)"
_tenon() {
  local -a found
  found=("\${(@f)$(tenon completion --words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=(\${found:#})
  if (( \${#found} )); then
    compadd -S '' -- \${(M)found:#*=}
    compadd -- \${found:#*=}
  else
    _files
  fi
}
compdef _tenon tenon
`,
  fish: `# Put this into ~/.config/fish/config.fish: tenon completion fish | source
complete -c tenon -a '(tenon completion --words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}
