/** The time that the tests of one mutant may take without it, as measured when all tests ran at once on every core. */
const budgetMs = 90_000

/** Words of paths that say nothing about the subject. */
const common = new Set(['packages', 'sdk', 'src', 'test', 'ts', 'index'])

/**
 * Chooses the test files that run the code of a mutant, the most promising first: those that run the branch where it counts or what
 * the code calls, that have a similar name or that run little else, and of these the fast ones. Code that runs when a module is loaded counts as run by
 * every test that runs anything of the file.
 */
export function chooseTests(mutant, coverage) {
  const words = wordsIn(mutant.path)
  const most = new Map(
    mutant.uses.map((path) => [path, Math.max(...Object.values(coverage).map(({ hits }) => hits[path]?.length ?? 0))]),
  )
  const candidates = []
  for (const [path, { project, ms, isPassed, hits }] of Object.entries(coverage)) {
    const run = hits[mutant.path]
    if (!isPassed || !run || !(mutant.point < 0 || run.includes(mutant.point))) continue
    const all = Object.values(hits).reduce((sum, { length }) => sum + length, 0)
    const shared = [...wordsIn(path)].filter((word) => words.has(word)).length
    const isDecisive = mutant.branch !== undefined && run.includes(mutant.branch)
    const called = partOf(mutant.uses, hits, most)
    const promise = ((isDecisive ? 10 : 1) * (1 + 9 * called) * (1 + 2 * shared + (20 * run.length) / all)) / (300 + ms)
    candidates.push({ path, project, ms, promise })
  }
  candidates.sort((one, other) => other.promise - one.promise)
  let total = 0
  return candidates.filter(({ ms }, index) => {
    total += ms
    return index === 0 || total <= budgetMs
  })
}

/**
 * How much a test runs of the sources that a mutant calls, from 0 to 1, compared with the test that runs most of them. Nearly every
 * test may run the function with the mutant, and few the branch that calls them.
 */
function partOf(paths, hits, most) {
  const parts = paths.map((path) => (hits[path]?.length ?? 0) / Math.max(1, most.get(path)))
  return parts.length === 0 ? 0 : parts.reduce((sum, part) => sum + part, 0) / parts.length
}

function wordsIn(path) {
  return new Set(path.split(/[/.-]/).filter((word) => !common.has(word)))
}
