import { safeLine } from 'tenon/internal'
import { columnsOf, fit, padEnd } from '../columns.ts'
import type { Output } from '../output.ts'
import type { CheckedServer } from './check-servers.ts'

/** Shows configured servers by config file: name, state, tools, time, and what is wrong or where it is. */
export function viewCheckedServers(servers: readonly CheckedServer[], { paint, width }: Output): string[] {
  const left = Math.min(24, Math.max(...servers.map(({ id }) => columnsOf(safeLine(id)))))
  const sources = [...new Set(servers.map(({ source }) => source))]
  return sources.flatMap((source, index) => [
    ...(index === 0 ? [] : ['']),
    paint.strong(fit(safeLine(source, 1_000), width)),
    ...servers
      .filter((server) => server.source === source)
      .map((server) => {
        const { id, state, tools, ms, error, address } = server
        const count = tools === null ? '' : tools === 1 ? '1 tool' : `${tools} tools`
        const time = ms === null ? '' : ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
        const name = padEnd(fit(safeLine(id), left), left)
        const start = `  ${name}  ${padEnd(state, 14)}  ${padEnd(count, 9)} ${time.padStart(7)}  `
        const detail = state === 'not approved' || error === null ? address : shortReason(error)
        const text = fit(safeLine(detail, 1_000), width - columnsOf(start))
        const isBroken = state !== 'ok' && state !== 'disabled'
        return start + (isBroken ? paint.warning(text) : paint.faint(text))
      }),
  ])
}

/** There is one line, so of the stderr of a process only the line that names the error is shown, and first. */
function shortReason(error: string): string {
  const [what = '', stderr = ''] = error.split('. The end of its stderr:\n')
  const line = stderr.split('\n').find((each) => /^\s*\w*(?:Error|Exception)\b.*: /.test(each))
  return line === undefined ? error : `${line.trim()} - ${what}`
}
