// Draws which folder of packages/sdk/src imports which: docs/import-graph.svg. `--check` fails when the picture is out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { sources } from './sources.js'

const root = new URL('../packages/sdk/src', import.meta.url).pathname
const output = new URL('../docs/import-graph.svg', import.meta.url).pathname
/** Everything may import these two, and `entry/` only re-exports, so arrows from and to them would say nothing. */
const hidden = new Set(['util', 'entry'])

const imports = new Map()
for (const path of sources(root)) {
  const folder = folderOf(relative(root, path))
  if (folder === undefined || hidden.has(folder)) continue
  const targets = imports.get(folder) ?? new Set()
  imports.set(folder, targets)
  for (const [, specifier] of readFileSync(path, 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
    const target = folderOf(relative(root, join(dirname(path), specifier)))
    if (target !== undefined && target !== folder && !hidden.has(target)) targets.add(target)
  }
}

const svg = draw()
if (process.argv.includes('--check')) {
  if (readIfThere(output) !== svg) {
    console.error('docs/import-graph.svg is out of date: run `npm run graph`')
    process.exit(1)
  }
} else {
  writeFileSync(output, svg)
  console.log(`graph: ${imports.size} folders`)
}

function draw() {
  const rows = layers()
  const box = { width: 132, height: 44, gapX: 28, gapY: 46 }
  const widest = Math.max(...rows.map((row) => row.length))
  const width = widest * (box.width + box.gapX) + box.gapX
  const height = rows.length * (box.height + box.gapY) + 40
  const places = new Map()
  rows.forEach((row, index) => {
    const used = row.length * (box.width + box.gapX) - box.gapX
    row.forEach((folder, column) => {
      const x = (width - used) / 2 + column * (box.width + box.gapX)
      places.set(folder, { x, y: 16 + index * (box.height + box.gapY), row: index })
    })
  })
  const arrows = [...imports].flatMap(([from, targets]) =>
    [...withoutDetours(targets)].map((to) => arrow(places.get(from), places.get(to), box)),
  )
  const boxes = [...places].map(([folder, place]) => drawBox(folder, place, box))
  const note = `Arrows: "imports". Left out: arrows that follow from others, and util/ and errors.ts, which every folder may import.`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="14">
<title>Imports between the folders of packages/sdk/src</title>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#64748b"/></marker></defs>
<rect width="100%" height="100%" fill="#ffffff"/>
${arrows.join('\n')}
${boxes.join('\n')}
<text x="${width / 2}" y="${height - 12}" text-anchor="middle" font-size="12" fill="#475569">${note.replaceAll('"', '&quot;')}</text>
</svg>
`
}

/** Each folder stands one row above the highest of those that it imports. */
function layers() {
  const depths = new Map()
  const depthOf = (folder, path = []) => {
    if (path.includes(folder)) throw new Error(`Folders import each other: ${[...path, folder].join(' -> ')}`)
    if (!depths.has(folder)) {
      const below = [...(imports.get(folder) ?? [])].map((target) => depthOf(target, [...path, folder]))
      depths.set(folder, Math.max(-1, ...below) + 1)
    }
    return depths.get(folder)
  }
  const rows = []
  for (const folder of [...imports.keys()].sort()) {
    const depth = depthOf(folder)
    rows[depth] = [...(rows[depth] ?? []), folder]
  }
  return rows.reverse()
}

/** Leaves an import out when it is also reached through another one, which keeps the picture readable. */
function withoutDetours(targets) {
  const reached = new Set()
  const visit = (folder) => {
    for (const target of imports.get(folder) ?? []) {
      if (reached.has(target)) continue
      reached.add(target)
      visit(target)
    }
  }
  for (const target of targets) visit(target)
  return [...targets].filter((target) => !reached.has(target))
}

function arrow(from, to, { width, height }) {
  const [x1, y1] = [from.x + width / 2, from.y + height]
  const [x2, y2] = [to.x + width / 2, to.y - 2]
  const bend = Math.max(24, (y2 - y1) / 2)
  return `<path d="M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}" fill="none" stroke="#94a3b8" stroke-width="1.5" marker-end="url(#head)"/>`
}

function drawBox(folder, { x, y }, { width, height }) {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="#f1f5f9" stroke="#334155"/><text x="${x + width / 2}" y="${y + height / 2 + 5}" text-anchor="middle" font-weight="600" fill="#0f172a">${folder}/</text>`
}

function folderOf(path) {
  const parts = path.split(sep)
  return parts.length > 1 ? parts[0] : undefined
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
