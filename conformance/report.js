const columns = ['scenario', 'revision', 'mode', 'checks', 'verdict']

/** The table with the scenarios that are not due or not possible at its end, then the problems, then the totals. */
export function report(unsorted) {
  const rows = [...unsorted.filter((row) => !isExcused(row)), ...unsorted.filter(isExcused)]
  const sections = [table(rows), problems(rows), totals(rows)]
  return sections.filter((section) => section !== '').join('\n\n')
}

function table(rows) {
  const cells = rows.map(({ scenario, revision, mode, passed, total, verdict, reason }) => [
    scenario,
    revision,
    mode,
    `${passed}/${total}`,
    reason === undefined ? verdict : `${verdict}: ${reason}`,
  ])
  const widths = columns.map((column, index) => Math.max(column.length, ...cells.map((row) => row[index].length)))
  const line = (row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index]))
      .join('  ')
      .trimEnd()
  return [line(columns), widths.map((width) => '─'.repeat(width)).join('  '), ...cells.map(line)].join('\n')
}

function problems(rows) {
  return rows
    .filter((row) => row.problems.length > 0)
    .map((row) => [`${row.scenario} at ${row.revision} (${row.mode})`, ...row.problems.map(indent)].join('\n'))
    .join('\n\n')
}

function indent(problem) {
  return problem.replace(/^/gm, '  ')
}

function totals(rows) {
  const tally = (verdict) => rows.filter((row) => row.verdict === verdict).length
  const checks = rows.filter((row) => !isExcused(row)).reduce((sum, { passed }) => sum + passed, 0)
  const excused = `${tally('not due')} not due yet, ${tally('not possible')} not possible`
  return `${rows.length} runs: ${tally('pass')} pass (${checks} checks), ${tally('FAIL')} fail, ${excused}`
}

function isExcused({ verdict }) {
  return verdict === 'not due' || verdict === 'not possible'
}
