import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { useApp } from '../state/app.ts'
import { type LogLine, levelOf, loggerOf, logLevels, textOf, toLogTest } from '../store/logs.ts'
import { clockTime, count } from '../text/format.ts'
import { Safe } from '../text/safe.tsx'
import { JsonTree } from './result/json-tree.tsx'
import { LargeText } from './result/large-text.tsx'
import { useFiltered } from './use-filtered.ts'
import { VirtualList } from './virtual-list.tsx'

/** Log messages of a server, and what its program wrote to stderr. */
export function LogsView({ server }: { server: string }) {
  const app = useApp()
  app.store.logs.changes.watch()
  const level = app.ui.kept(`${server} log level`, () => 'debug')
  const search = app.ui.kept(`${server} log search`, () => '')
  const selected = useSignal<LogLine | undefined>(undefined)
  const isWanted = useMemo(
    () => toLogTest({ server, level: level.value, text: search.value }),
    [server, level.value, search.value],
  )
  const lines = useFiltered(app.store.logs.lines, isWanted)
  return (
    <div class="logs">
      <div class="list-head">
        <input
          type="search"
          placeholder="Search logs  /"
          aria-label="Search logs"
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
        <LevelSelect label="Show" value={level.value} onChange={(next) => (level.value = next)} suffix=" and above" />
        {app.isLive && <ServerLevel server={server} />}
        <span class="dim" role="status">
          {count(lines.length, 'line')}
        </span>
      </div>
      <VirtualList
        label="log lines"
        count={lines.length}
        rowHeight={24}
        selected={selected.value === undefined ? -1 : lines.indexOf(selected.value)}
        onSelect={(index) => (selected.value = lines.at(index))}
        isFollowing
        row={(index) => <LogRow line={lines.at(index)} />}
      />
      {selected.value && (
        <div class="log-detail">
          {selected.value.kind === 'log' && typeof selected.value.data !== 'string' ? (
            <JsonTree value={selected.value.data} />
          ) : (
            <LargeText text={textOf(selected.value)} />
          )}
        </div>
      )}
    </div>
  )
}

/** Asks the server to send less or more. */
function ServerLevel({ server }: { server: string }) {
  const app = useApp()
  const requested = app.ui.kept(`${server} requested log level`, () => '')
  const request = (level: string) => {
    requested.value = level
    if (level !== '') void app.operate(server, { method: 'logging/setLevel', params: { level } })
  }
  return <LevelSelect label="Request" value={requested.value} onChange={request} none="as the server likes" />
}

interface LevelSelectProps {
  readonly label: string
  readonly value: string
  readonly onChange: (level: string) => void
  readonly suffix?: string
  readonly none?: string
}

function LevelSelect(props: LevelSelectProps) {
  return (
    <label class="row">
      {props.label}
      <select class="small" value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.none && <option value="">{props.none}</option>}
        {logLevels.map((level) => (
          <option key={level} value={level}>
            {level}
            {level === 'emergency' ? '' : props.suffix}
          </option>
        ))}
      </select>
    </label>
  )
}

function LogRow({ line }: { line: LogLine | undefined }) {
  if (line === undefined) return null
  const level = logLevels.find((known) => known === levelOf(line)) ?? 'info'
  return (
    <span class="log-row">
      <span class="dim mono">{clockTime(line.at)}</span>
      <span class={`level ${level}`}>
        <Safe text={levelOf(line)} maxChars={20} />
      </span>
      <span class="dim">
        <Safe text={loggerOf(line)} maxChars={40} />
      </span>
      <span class="clip">
        <Safe text={textOf(line).slice(0, 1_000).replace(/\s+/g, ' ')} maxChars={300} />
      </span>
    </span>
  )
}
