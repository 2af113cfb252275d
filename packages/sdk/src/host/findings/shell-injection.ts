/**
 * Finds the part of a text that a shell would run as a command of its own, if a program passed the text on to one. Looks for a
 * command after a separator, because separators alone are ordinary in names: `R&D`, `a; b`, `Simon & Garfunkel`.
 */
export function findShellCommand(text: string): { readonly start: number; readonly end: number } | undefined {
  if (!mayContainCommand.test(text)) return undefined
  for (const pattern of patterns) {
    const match = pattern.exec(text)
    if (match) return { start: match.index, end: match.index + match[0].length }
  }
  return undefined
}

/** Words that are nothing but commands. */
const commands =
  'curl|wget|tftp|busybox|bash|sh|zsh|ksh|dash|nc|ncat|netcat|socat|whoami|powershell|pwsh|cmd\\.exe|chmod|chown|chroot|mkfifo|telnet|scp|rsync|sudo|uname|nslookup|crontab|certutil|bitsadmin|base64|mkfs|iptables|systemctl|xargs|printenv|ifconfig|awk|sed|chpasswd|useradd|rm|mv|cp|dd|ls'
/** Programs that are also subjects: `CI | docker`. */
const programs =
  'npm|npx|pnpm|yarn|git|docker|podman|kubectl|node|deno|bun|python3?|perl|ruby|php|ssh|pip3?|apt|apt-get|yum|apk|brew|make|aws|gcloud|az|psql|mysql|openssl|java|go'
/** Commands that are also words. */
const words =
  'cat|echo|find|kill|killall|id|env|ping|touch|ln|tar|set|export|source|eval|exec|sleep|shutdown|reboot|halt|start|open|at|tee|head|tail|sort|dir|type|del|net|host|dig|who|less|more|grep|cut|date|printf|mail|service|history|unset|ps|df|su'

const anyCommand = `${commands}|${programs}|${words}`

/** What follows a command, but hardly a word of a sentence: an option, a path, a variable, an address. */
const operand = '[ \\t]+(?:--?\\w|[~.$@\\\\<>/]|[\\w.-]{0,64}[/@=]|\\d{1,3}\\.\\d)'
const anySeparator = '(?:;|&{1,2}|\\|{1,2}|[\\n\\r])'
const strongSeparator = '(?:;|&&|\\|\\||[\\n\\r])'
/** Shells read a path to a program as they read its name. */
const folder = '(?:/(?:usr/|local/|s?bin/){1,3})?'

/** Every match of a pattern contains one of these. One expression is faster for the many texts with an ordinary separator. */
const mayContainCommand = new RegExp(
  `[\`$<>]|[a-zA-Z]=|[;&|\\n\\r]\\s{0,8}(?:[/~.]|(?:${anyCommand}|Invoke|Start|New|Remove|Set|Get)(?![\\w]))`,
)

const patterns: readonly RegExp[] = [
  // The result of a command within a text.
  /\$\(\s{0,8}[a-z./~]/i,
  // In Markdown, space or punctuation surrounds a code span, or it is not the whole text.
  new RegExp(`(?:[\\w./=-]|^)\`\\s{0,8}${folder}(?:${anyCommand})(?![\\w.-])[^\`\\n]{0,400}\`(?:[\\w./=-]|$)`),
  new RegExp(`[\\w./=-]\`\\s{0,8}${folder}(?:${anyCommand})(?![\\w.-])[^\`\\n]{0,400}\``),
  // The usual way to write a space where none is accepted.
  /\$\{?IFS\b/,
  /[<>]\s{0,8}\/dev\/(?:tcp|udp)\/|<<<|[<>]\(\s{0,8}[a-z]/i,
  /\d?>{1,2}\s{0,8}(?:\/(?:etc|home|root|tmp|var|usr|dev|opt|bin|Users)\/|~\/)/,
  new RegExp(`${anySeparator}\\s{0,8}${folder}(?:${commands})(?![\\w.-])`),
  new RegExp(`${strongSeparator}\\s{0,8}${folder}(?:${programs})[ \\t]+[\\w./-]`),
  new RegExp(`${anySeparator}\\s{0,8}${folder}(?:${anyCommand})${operand}`),
  new RegExp(`;(?:${words})$`),
  // A program by its path, a command of PowerShell, and options of ordinary programs that run another one.
  new RegExp(`${strongSeparator}\\s{0,8}(?:~|\\.{1,2})?/[\\w.]`),
  new RegExp(`${anySeparator}\\s{0,8}(?:Invoke|Start|New|Remove|Set|Get)-[A-Z]\\w`),
  /(?:--checkpoint-action|--use-compress-program|--upload-pack|--receive-pack|-oProxyCommand|--rsh|--to-command)=/,
]
