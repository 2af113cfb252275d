import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname } from 'node:path'
import { median } from './figures.js'

/** The cases of a block are written between its marks. */
const marksOf = (block) => [`<!-- ${block}:start -->`, `<!-- ${block}:end -->`]

const labels = {
  bare: 'bare loop',
  'bare-with-zod': 'bare loop that loads zod',
  'bare-one-write': 'bare loop, one write per tick',
  'official-v1': '@modelcontextprotocol/sdk 1.32.2',
  'official-v2': '@modelcontextprotocol/server, client 2.4.0',
  tenon: 'Tenon',
  'tenon-json-schema': 'Tenon with plain JSON Schema',
}

/** Returns the report as Markdown, padded so that it is readable in a terminal too. */
export function report(cases, results, { rounds, slices, sliceSeconds, foreignShare }) {
  const summaries = cases.map((each) => ({ ...each, rows: summarise(each, results.get(each.name)) }))
  return [
    `Node ${process.versions.node}, ${cpus()[0].model.trim()}, ${cpus().length} cores, ` +
      `${new Date().toISOString().slice(0, 10)}: medians of ${rounds} rounds of up to ${slices} slices of ` +
      `${sliceSeconds * 1000} ms.`,
    `Other programs took ${Math.round(foreignShare * 100)} % of the machine meanwhile.`,
    '',
    ...targets(summaries, results),
    ...summaries.flatMap(section),
  ].join('\n')
}

/** Replaces the text between the two marks of a block of the file, or creates the file. */
export function writeReport(file, text, block) {
  const [startMark, endMark] = marksOf(block)
  const old = existsSync(file) ? readFileSync(file, 'utf8') : introduction
  if (!old.includes(startMark) || !old.includes(endMark)) throw new Error(`${file} lacks ${startMark} or ${endMark}`)
  const before = old.slice(0, old.indexOf(startMark) + startMark.length)
  const after = old.slice(old.indexOf(endMark))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${before}\n\n${text.trim()}\n\n${after}`)
}

function summarise({ contestants, compare = 'ratio', baseline = 'bare' }, row) {
  const bare = row.get(baseline)
  return contestants
    .filter((contestant) => row.has(contestant))
    .map((contestant) => {
      const figures = row.get(contestant)
      const failure = figures.find((figure) => figure.failure)?.failure
      if (failure) return { contestant, failure }
      const values = figures.map(({ value }) => value)
      const compared = compare === 'none' ? undefined : paired(figures, bare, 'value', comparisons[compare])
      const cpu = figures[0].cpu === undefined ? undefined : median(figures.map((figure) => figure.cpu))
      // Inverted, so that more is better in both ratios.
      const cpuRatio = cpu === undefined ? undefined : paired(figures, bare, 'cpu', (own, other) => other / own)
      return { contestant, values, value: median(values), compared, cpu, cpuRatio }
    })
}

const comparisons = {
  ratio: (own, bare) => own / bare,
  above: (own, bare) => own - bare,
}

/** Compares within each round, where both ran under the same conditions, and returns the median. */
function paired(figures, bare, key, compare) {
  const pairs = figures.flatMap((figure, round) =>
    bare?.[round]?.[key] === undefined ? [] : [compare(figure[key], bare[round][key])],
  )
  return pairs.length > 0 ? median(pairs) : undefined
}

function targets(summaries, results) {
  const rows = summaries
    .filter(({ target }) => target !== undefined)
    .flatMap((each) => [
      ...pairsOf(each).map(([contestant, yardstick]) => targetRow(each, results.get(each.name), contestant, yardstick)),
      ...(each.target.cpuAtMost === undefined ? [] : [cpuTargetRow(each)]),
    ])
  const rivals = new Set(summaries.filter(({ target }) => target !== undefined).map(({ rival }) => rival))
  const [rival = 'official v2'] = rivals
  return [...table(['Case', 'Target', 'Tenon', rivals.size > 1 ? 'official' : rival, 'Met'], rows), '']
}

/** Who is compared with whom. A case may have a target for CPU only. */
function pairsOf({ target, baseline = 'bare' }) {
  if (target.atLeast === undefined && target.atMost === undefined) return []
  return Object.entries(target.pairs ?? { tenon: baseline })
}

function targetRow(each, row, contestant, yardstick) {
  const { name, target, unit, compare = 'ratio', baseline = 'bare', rival = 'official-v2' } = each
  const reach = (who) => {
    const figures = row.get(who)
    if (!figures || figures.some(({ failure }) => failure)) return undefined
    if (compare === 'none') return median(figures.map(({ value }) => value))
    return paired(figures, row.get(yardstick), 'value', comparisons[compare])
  }
  const own = reach(contestant)
  const met = own !== undefined && (target.atLeast === undefined ? own <= target.atMost : own >= target.atLeast)
  const title = yardstick === baseline ? name : `${name}, against the ${labels[yardstick]}`
  const bound = target.atLeast === undefined ? `at most ${target.atMost} ${unit}` : `at least ${target.atLeast}`
  return [title, bound, decimals(own), decimals(reach(rival)), met ? 'yes' : 'no']
}

function cpuTargetRow({ name, target, rows, rival }) {
  const cpuOf = (who) => rows.find(({ contestant }) => contestant === who)?.cpu
  const cpu = cpuOf('tenon')
  const isMet = cpu !== undefined && cpu <= target.cpuAtMost
  return [
    `${name}, CPU per call`,
    `at most ${target.cpuAtMost} µs`,
    decimals(cpu),
    decimals(cpuOf(rival)),
    isMet ? 'yes' : 'no',
  ]
}

function section({ name, title, unit, compare = 'ratio', rows, labels: own, baseline = 'bare' }) {
  const label = (contestant) => own?.[contestant] ?? labels[contestant]
  const withCpu = rows.some(({ cpu }) => cpu !== undefined)
  const comparison = { ratio: [`Ratio to ${baseline}`], above: [`Above ${baseline}`], none: [] }[compare]
  const head = ['Contestant', unit, ...comparison, 'Spread', ...(withCpu ? ['CPU µs/message', 'CPU ratio'] : [])]
  const body = rows.map((row) => {
    if (row.failure) return [label(row.contestant), `failed: ${row.failure}`, ...head.slice(2).map(() => '')]
    const spread =
      row.values.length > 1 ? `${amount(Math.min(...row.values))} to ${amount(Math.max(...row.values))}` : ''
    return [
      label(row.contestant),
      amount(row.value),
      ...(compare === 'none' ? [] : [decimals(row.compared)]),
      spread,
      ...(withCpu ? [amount(row.cpu), decimals(row.cpuRatio)] : []),
    ]
  })
  return [`### ${name}: ${title}`, '', ...table(head, body), '']
}

function table(head, rows) {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)))
  const line = (row) =>
    `| ${row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]) : cell.padStart(widths[n]))).join(' | ')} |`
  const rule = widths.map((width, n) => (n === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`))
  return [line(head), `|${rule.join('|')}|`, ...rows.map(line)]
}

function amount(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(1)
}

function decimals(value) {
  if (value === undefined) return '-'
  return Math.abs(value) >= 10 ? value.toFixed(0) : value.toFixed(2)
}

const introduction = `# Performance

\`npm run bench\` measures Tenon side by side with the official TypeScript packages and with the least that a program
can do: a bare loop that reads a line, parses it, answers and stringifies, without any check. \`npm run bench -- --write\`
renews the figures below.

How to read them:

- Every figure is the median over the rounds. In each round every contestant gets a fresh process; all of them are up
  at the same time and take turns in short slices, in an order that moves on, so that a slow moment of the machine
  hits all alike.
- The ratio is taken within each round (contestant to bare loop) and then the median is taken. Targets speak of this
  ratio. More is better; 1 is as fast as the bare loop.
- CPU is what the contestant's process spent per message, in all its threads, and explains the throughput: with one
  call in flight most of the time goes into waking the other process, which no library can change. The CPU ratio is
  turned round, so that more is better there too.
- The load comes from one raw client that sends ready-made bytes and counts newlines. It puts samples of the answers
  aside and checks them afterwards; a wrong answer ends the run.
- All servers are warmed up for 100,000 calls or 1.5 seconds, whichever is first. The official packages and Tenon
  use the same zod schemas. Payloads of the echo cases are ASCII.
- In the client cases the contestant is the client and all call the bare server. The bare client writes each call at
  once. One that collects the calls of a tick is shown beside it: it spends less, but where two cores are free it gets
  less through, because client and server then wait for each other.
- Most of a cold start with zod is zod. So Tenon without a schema library is held against the bare loop, and Tenon with
  zod against a bare loop that loads zod.
- Over HTTP the yardstick is a bare \`node:http\` server: it reads and parses the body, stringifies the answer and sends it
  with one \`writeHead\` and one \`end\`, without any check; a session is an entry in a map. The load comes from raw
  sockets, each with one request under way. The official packages answer in plain JSON, are handed the parsed body and,
  where there are no sessions, get a server and a transport for every request, as their examples do it; their second
  line stands on \`@modelcontextprotocol/node\` 2.1.2.
- The bare client over HTTP is \`node:http\` with a keep-alive agent. Every client has a bare server process of its own.
- Over HTTP servers are warmed up for 100,000 calls or 3 seconds, clients for 20,000 calls or 6 seconds.
- Heap per session is taken in the server's process after garbage collection, and is what 2,000 more sessions add to a
  server that has seen 200.
- Everything runs in a clean environment, without \`NODE_OPTIONS\` or \`NODE_EXTRA_CA_CERTS\`.

${marksOf('bench').join('\n')}

## Gateway

${marksOf('gateway').join('\n')}
`
