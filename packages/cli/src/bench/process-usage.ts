import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** What a process and its children use. */
export interface ProcessUsage {
  readonly rssBytes: number
  readonly cpuSeconds: number
}

interface Row extends ProcessUsage {
  readonly pid: number
  readonly parent: number
}

/** Measures processes with all of their children. Undefined where that is not possible. */
export function measureProcesses(pids: readonly number[]): ProcessUsage | undefined {
  const rows = readRows()
  const members = new Set(pids)
  // Children come after their parents only mostly, so repeat until nothing is added.
  for (let size = -1; size !== members.size; ) {
    size = members.size
    for (const { pid, parent } of rows) if (members.has(parent)) members.add(pid)
  }
  const found = rows.filter(({ pid }) => members.has(pid))
  if (found.length === 0) return undefined
  return {
    rssBytes: found.reduce((sum, row) => sum + row.rssBytes, 0),
    cpuSeconds: found.reduce((sum, row) => sum + row.cpuSeconds, 0),
  }
}

function readRows(): Row[] {
  if (process.platform === 'linux') return readProc()
  return process.platform === 'win32' ? [] : readPs()
}

/** Clock ticks per second; 100 on every Linux that Node.js runs on. */
const ticksPerSecond = 100

function readProc(): Row[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [parseProc(Number(name))]
      } catch {
        // The process ended meanwhile.
        return []
      }
    })
}

function parseProc(pid: number): Row {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program is in parentheses, and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [, parent = '0'] = fields
  const ticks = Number(fields[11]) + Number(fields[12])
  const rss = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0'
  return { pid, parent: Number(parent), rssBytes: Number(rss) * 1_024, cpuSeconds: ticks / ticksPerSecond }
}

function readPs(): Row[] {
  const output = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,rss=,time='], { encoding: 'utf8' })
  return output
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, parent, rss, time = '']) => ({
      pid: Number(pid),
      parent: Number(parent),
      rssBytes: Number(rss) * 1_024,
      cpuSeconds: toSeconds(time),
    }))
}

/** `1-02:03:04`, `02:03` or `02:03.45`. */
function toSeconds(time: string): number {
  const [days, clock = ''] = time.includes('-') ? time.split('-') : ['0', time]
  return Number(days) * 86_400 + clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
}
