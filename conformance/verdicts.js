/**
 * Judges one result more strictly than the suite does: a warning is a failure, and so is a pass with fewer checks than
 * expected, or with none.
 *
 * @param row The run: scenario, revision, mode.
 * @param expected The entry of the scenario in expected.json; undefined if it has none.
 * @param result The result that the suite wrote; undefined if it did not run the scenario.
 */
export function judge(row, expected, result) {
  const checks = result?.checks ?? []
  const passed = count(checks, 'SUCCESS')
  const total = passed + count(checks, 'FAILURE') + count(checks, 'WARNING')
  const problems = problemsOf(row, expected, result, passed)
  const reason = Object.values(expected?.except ?? {})[0]
  return { ...row, passed, total, ...(reason && { reason: `except ${reason}` }), ...verdictOf(expected, problems) }
}

/**
 * A scenario that is not due or not possible but passes is a problem too, because expected.json would be outdated; except for
 * one that passes by failing, which expected.json calls vacuous.
 */
function verdictOf({ notDue, notPossible, vacuous } = {}, problems) {
  const reason = notDue ?? notPossible
  const verdict = notDue === undefined ? 'not possible' : 'not due'
  if (reason === undefined) return { verdict: problems.length === 0 ? 'pass' : 'FAIL', problems }
  if (vacuous !== undefined) return { verdict, reason: `${reason}; ${vacuous}`, problems: [] }
  if (problems.length > 0) return { verdict, reason, problems: [] }
  return { verdict: 'FAIL', problems: [`passes, although expected.json has it as ${verdict} (${reason})`] }
}

function problemsOf(row, expected, result, passed) {
  if (!expected) return ['has no entry in expected.json']
  if (!result) return ['was not run']
  if (!result.checks) return ['did not get to its end']
  const minimum = expected[row.revision]
  if (minimum === undefined) return [`has no minimum for ${row.revision} in expected.json`]
  const except = expected.except ?? {}
  const problems = result.checks
    .filter(({ status, id }) => (status === 'FAILURE' || status === 'WARNING') && !(id in except))
    .map(({ status, id, description, errorMessage }) => `${status} ${id}: ${errorMessage ?? description}`)
  const outdated = result.checks.filter(({ status, id }) => status === 'SUCCESS' && id in except)
  problems.push(...outdated.map(({ id }) => `${id} passes, although expected.json excepts it`))
  if (passed === 0) problems.push('nothing was checked')
  else if (passed < minimum) problems.push(`only ${passed} checks passed, of ${minimum} at least`)
  // The exit code is known only for scenarios that ran by name. Excepted checks make the suite fail.
  const isFailed = (result.exitCode ?? 0) !== 0 && expected.except === undefined
  if (problems.length === 0 && isFailed) problems.push('every check passed, but the client failed')
  if (problems.length > 0 && result.stderr !== '') problems.push(`the client said:\n${lastLines(result.stderr)}`)
  return problems
}

function lastLines(text) {
  return text.trim().split('\n').slice(-8).join('\n')
}

function count(checks, status) {
  return checks.filter((check) => check.status === status).length
}
