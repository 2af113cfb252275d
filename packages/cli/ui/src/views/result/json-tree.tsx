import { useState } from 'preact/hooks'
import { isObject } from 'tenon/internal'
import { count } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'
import { LargeText } from './large-text.tsx'

/** How many members are shown at once. */
const pageSize = 100
const maxInlineChars = 2_000

interface NodeProps {
  readonly value: unknown
  readonly name?: string | undefined
  /** How many levels are open at first. */
  readonly openLevels: number
}

/** JSON as a tree. Members are drawn when they are opened, so its size does not matter. */
export function JsonTree({ value, openLevels = 2 }: { value: unknown; openLevels?: number }) {
  return (
    <div class="json-tree">
      <Node value={value} openLevels={openLevels} />
    </div>
  )
}

function Node({ value, name, openLevels }: NodeProps) {
  const entries = entriesOf(value)
  if (entries === undefined || entries.length === 0) {
    return (
      <div class="leaf">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    )
  }
  return <Branch entries={entries} isList={Array.isArray(value)} name={name} openLevels={openLevels} />
}

interface BranchProps extends Omit<NodeProps, 'value'> {
  readonly entries: readonly [string, unknown][]
  readonly isList: boolean
}

function Branch({ entries, isList, name, openLevels }: BranchProps) {
  const [isOpen, setIsOpen] = useState(openLevels > 0)
  const [shown, setShown] = useState(pageSize)
  const noun = isList ? count(entries.length, 'item') : count(entries.length, 'member')
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        <span class="dim">{isList ? `[ ${noun} ]` : `{ ${noun} }`}</span>
      </summary>
      {isOpen &&
        entries
          .slice(0, shown)
          .map(([key, each]) => <Node key={key} name={key} value={each} openLevels={openLevels - 1} />)}
      {isOpen && entries.length > shown && (
        <button type="button" class="small" onClick={() => setShown(shown + pageSize)}>
          Show {Math.min(pageSize, entries.length - shown)} more of {entries.length - shown}
        </button>
      )}
    </details>
  )
}

function Name({ name }: { name: string | undefined }) {
  if (name === undefined) return null
  return (
    <span class="json-key">
      <Safe text={name} maxChars={200} />:{' '}
    </span>
  )
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === 'string') {
    if (value.length > maxInlineChars) return <LongString text={value} />
    return (
      <span class="json-string">
        "<Safe text={value} />"
      </span>
    )
  }
  const text = Array.isArray(value) ? '[]' : isObject(value) ? '{}' : (JSON.stringify(value) ?? 'undefined')
  return <span class="json-literal">{text}</span>
}

function LongString({ text }: { text: string }) {
  const [isWhole, setIsWhole] = useState(false)
  if (isWhole) return <LargeText text={text} />
  return (
    <span class="json-string">
      "<Safe text={text.slice(0, maxInlineChars)} />…{' '}
      <button type="button" class="small" onClick={() => setIsWhole(true)}>
        Show all {text.length.toLocaleString('en-US')} characters
      </button>
    </span>
  )
}

function entriesOf(value: unknown): readonly [string, unknown][] | undefined {
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item])
  return isObject(value) ? Object.entries(value) : undefined
}
