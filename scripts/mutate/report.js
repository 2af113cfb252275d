/** Prints the mutants that no test noticed, and how many were noticed in each folder. */
export function report(results, seconds, print) {
  for (const status of ['survived', 'uncovered']) {
    const found = results.filter((result) => result.status === status)
    if (found.length > 0) print(`\n${titles[status]}:`)
    for (const { path, line, operator, files, before, after } of found.toSorted(byPlace)) {
      print(`\n${path}:${line}  ${operator}${files > 0 ? `, after ${files} test files` : ''}`)
      for (const text of before) print(`- ${text}`)
      for (const text of after) print(`+ ${text}`)
    }
  }
  print(`\n${'folder'.padEnd(12)}${columns.map((name) => name.padStart(11)).join('')}       rate`)
  for (const { folder, counts, rate } of rates(results)) {
    print(
      `${folder.padEnd(12)}${counts.map((count) => String(count).padStart(11)).join('')}${`${rate} %`.padStart(11)}`,
    )
  }
  print(`\n${results.length} mutants in ${Math.round(seconds)} s`)
}

/** The counts and the kill rate, in percent, of each folder and in total. */
export function rates(results) {
  const folders = [...new Set(results.map(({ folder }) => folder))].sort()
  const all = folders.map((folder) => [folder, results.filter((result) => result.folder === folder)])
  return [...all, ['total', results]].map(([folder, found]) => {
    const counts = columns.map((status) => found.filter((result) => result.status === status).length)
    const [killed, timeout] = counts
    return { folder, counts, rate: Math.round((1000 * (killed + timeout)) / found.length) / 10 }
  })
}

/** The lines that a mutant changes, without and with it. */
export function changedLines(text, mutated) {
  const [before, after] = [text.split('\n'), mutated.split('\n')]
  let first = 0
  while (before[first] === after[first]) first++
  let same = 0
  while (same < Math.min(before.length, after.length) - first && before.at(-1 - same) === after.at(-1 - same)) same++
  const changed = (lines) => lines.slice(first, lines.length - same).map((line) => line.trim())
  return { before: changed(before), after: changed(after) }
}

/** A mutant that makes a test wait for ever is noticed too. */
const columns = ['killed', 'timeout', 'survived', 'uncovered']

const titles = {
  survived: 'Mutants that no test noticed',
  uncovered: 'Mutants in code that no fast test runs in its own process',
}

function byPlace(one, other) {
  return one.path.localeCompare(other.path) || one.line - other.line
}
