import { safeLine } from 'tenon/internal'
import { fit, wrap } from '../columns.ts'
import type { Output } from '../output.ts'
import type { Measurement } from './measure.ts'
import type { ProcessUsage } from './process-usage.ts'

/** The output of `tenon bench --json`, documented in docs/cli-checks.md. */
export interface BenchReport {
  readonly server: { readonly name: string; readonly version: string } | null
  readonly revision: string
  readonly tool: string
  readonly connections: number
  readonly concurrency: number
  readonly calls: number
  readonly errors: number
  readonly firstError: string | null
  readonly seconds: number
  readonly callsPerSecond: number
  readonly latencyMs: Latency
  /** Null if the server is not a child process. */
  readonly process: { readonly rssBytes: number; readonly maxRssBytes: number; readonly cpuSeconds: number } | null
  readonly leak: Leak
}

interface Latency {
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

interface Leak {
  /**
   * `growing`: memory grew in every round, by an amount that matters. `unclear`: it grew by as much, but not in every round.
   * `not-seen`: it did not. `unknown`: it could not be measured.
   */
  readonly verdict: 'growing' | 'unclear' | 'not-seen' | 'unknown'
  readonly message: string
  /** Memory after each round. */
  readonly rssBytes: readonly number[]
}

/** Computes the figures of a measurement. */
export function summarize({ latencies, errors, firstError, elapsedMs, usage, cpuSeconds }: Measurement) {
  const last = usage.at(-1)
  return {
    calls: latencies.length,
    errors,
    firstError: firstError ?? null,
    seconds: round(elapsedMs / 1_000),
    callsPerSecond: elapsedMs === 0 ? 0 : round((latencies.length * 1_000) / elapsedMs),
    latencyMs: latencyOf(latencies),
    process:
      last && cpuSeconds !== undefined
        ? {
            rssBytes: last.rssBytes,
            maxRssBytes: Math.max(...usage.map(({ rssBytes }) => rssBytes)),
            cpuSeconds: round(cpuSeconds),
          }
        : null,
    leak: leakOf(usage),
  }
}

function latencyOf(latencies: readonly number[]): Latency {
  const sorted = [...latencies].sort((a, b) => a - b)
  const at = (share: number) => round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0)
  const sum = sorted.reduce((total, value) => total + value, 0)
  return { mean: round(sum / Math.max(1, sorted.length)), p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}

const minGrowthBytes = 4 * 1_048_576
const minGrowthShare = 0.1

/**
 * Memory of a healthy server grows too: caches fill, and a garbage collector waits. So only growth of a size that matters is worth
 * a warning, and even that is not a proof.
 */
export function leakOf(usage: readonly ProcessUsage[]): Leak {
  const rssBytes = usage.map((round) => round.rssBytes)
  const [first] = rssBytes
  const last = rssBytes.at(-1)
  if (first === undefined || last === undefined || rssBytes.length < 3)
    return { verdict: 'unknown', message: 'Memory was not measured often enough to tell.', rssBytes }
  const change = `${mebibytes(first)} -> ${mebibytes(last)} MiB over ${rssBytes.length} rounds`
  const isEveryRound = rssBytes.every((bytes, index) => index === 0 || bytes > rssBytes[index - 1]!)
  const isMuch = last - first > Math.max(minGrowthBytes, first * minGrowthShare)
  if (!isMuch) return { verdict: 'not-seen', message: `Not seen: ${change}.`, rssBytes }
  const causes =
    'This can be a leak, a cache that fills, or memory that is not yet collected. Measure longer: --duration 60.'
  return isEveryRound
    ? { verdict: 'growing', message: `Memory grew in every round: ${change}. ${causes}`, rssBytes }
    : { verdict: 'unclear', message: `Memory grew, but not in every round: ${change}. ${causes}`, rssBytes }
}

function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1)
}

/** Renders a report for a person. */
export function viewBench(report: BenchReport, output: Output): string[] {
  const { paint, width } = output
  const { server, tool, connections, concurrency, latencyMs } = report
  const name = server ? fit(safeLine(`${server.name} ${server.version}`), width - 10) : 'A server without a name'
  const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  const row = (label: string, text: string) =>
    wrap(safeLine(text, 1_000), width - labelColumns - 2).map(
      (line, index) => `  ${(index === 0 ? label : '').padEnd(labelColumns)}${line}`,
    )
  return [
    paint.strong(name),
    ...wrap(
      safeLine(`${tool}, ${plural(connections, 'connection')}, ${plural(concurrency, 'call')} at a time on each`),
      width,
    ).map((line) => paint.faint(line)),
    '',
    ...row('calls', `${report.calls} in ${report.seconds.toFixed(2)} s, ${plural(report.errors, 'error')}`),
    ...(report.firstError === null ? [] : row('error', report.firstError)),
    ...row('rate', `${report.callsPerSecond.toFixed(0)} calls/s`),
    ...row(
      'latency',
      (['p50', 'p90', 'p99', 'max'] as const).map((key) => `${key} ${latencyMs[key].toFixed(2)} ms`).join(', '),
    ),
    ...viewProcess(report).flatMap(([label, text]) => row(label, text)),
    ...row('leak', report.leak.message),
  ]
}

const labelColumns = 10

function viewProcess({ process, seconds }: BenchReport): [string, string][] {
  if (!process) return [['memory', 'Unknown: the server is not a child of this process.']]
  const share = seconds === 0 ? '' : ` (${Math.round((process.cpuSeconds / seconds) * 100)}% of one core)`
  return [
    ['memory', `${mebibytes(process.rssBytes)} MiB, highest ${mebibytes(process.maxRssBytes)} MiB`],
    ['CPU', `${process.cpuSeconds.toFixed(2)} s${share}`],
  ]
}
