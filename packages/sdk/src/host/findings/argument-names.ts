/** The words of a name such as `filePath` or `file_path`, in lower case. */
export function wordsOf(name: string): string[] {
  return name
    .slice(0, 200)
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
}

/** Whether the name of an argument says that it is code, a query, a pattern or prose, where separators and quotes are ordinary. */
export function isCodeName(name: string): boolean {
  return wordsOf(name).some((word) => codeWords.has(word) || codeWords.has(word.replace(/s$/, '')))
}

const codeWords: ReadonlySet<string> = new Set(
  (
    'command cmd script code source shell bash sql query queries q statement expression expr formula ' +
    'filter where condition pattern regex regexp glob template content body text message msg markdown md latex tex equation ' +
    'html xml json yaml toml css style data payload input prompt thought description summary title subject comment ' +
    'note question answer reason instructions observation diff patch snippet arg arguments argv ' +
    'cookie header search keywords jq jsonpath xpath cron selector function program log document paragraph caption ' +
    'review reply email letter story lyrics abstract details explanation task todo steps context string changes'
  ).split(' '),
)
