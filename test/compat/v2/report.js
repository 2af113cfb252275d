import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** Prints passed and failed tests per file and suite, and groups the failures by reason. */
export function printReport({ testResults }, { work, expected, isFull }) {
  const suites = new Map()
  const reasons = new Map()
  const unexplained = []
  for (const { name, assertionResults, message } of testResults.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = relative(work, name)
    const suite = count(suites, file.split('/').slice(0, 2).join('/'))
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    const passed = assertionResults.filter(({ status }) => status === 'passed')
    suite.passed += passed.length
    suite.failed += failed.length
    console.log(`${String(passed.length).padStart(5)} passed ${String(failed.length).padStart(4)} failed  ${file}`)
    if (assertionResults.length === 0) {
      console.log(`      did not load: ${firstLine(message)}`)
      unexplained.push(`${file} did not load`)
    }
    for (const { fullName, failureMessages } of failed) {
      const reason = reasonFor(expected, file, fullName)
      if (!reason) unexplained.push(`${file}: ${fullName}\n      ${excerpt(failureMessages[0], isFull)}`)
      reasons.set(reason ?? 'not explained', (reasons.get(reason ?? 'not explained') ?? 0) + 1)
    }
  }
  printReasons(reasons, unexplained)
  for (const [suite, { passed, failed }] of suites) {
    const percent = ((100 * passed) / Math.max(1, passed + failed)).toFixed(1)
    console.log(`${suite}: ${passed} of ${passed + failed} passed (${percent} %)`)
  }
}

export function printReasons(reasons, unexplained) {
  if (reasons.size > 0) console.log('\nFailures by reason:')
  for (const [reason, number] of [...reasons].toSorted((a, b) => b[1] - a[1]))
    console.log(`${String(number).padStart(5)}  ${reason}`)
  if (unexplained.length > 0) console.log(`\nNot explained:\n${unexplained.map((each) => `    ${each}`).join('\n')}`)
  if (unexplained.length > 0) process.exitCode = 1
  console.log()
}

/** Columns: file, regular expression for the full name of the test, reason. */
export function readExpected(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'))
    .map(([file, pattern, reason]) => ({ file, pattern: new RegExp(pattern), reason }))
}

export function reasonFor(expected, file, name) {
  return expected.find((entry) => entry.file === file && entry.pattern.test(name))?.reason
}

function count(suites, name) {
  if (!suites.has(name)) suites.set(name, { passed: 0, failed: 0 })
  return suites.get(name)
}

function firstLine(text = '') {
  return text.split('\n')[0].slice(0, 300)
}

function excerpt(text = '', isFull = false) {
  return isFull ? text.split('\n').slice(0, 30).join('\n      ') : firstLine(text)
}
