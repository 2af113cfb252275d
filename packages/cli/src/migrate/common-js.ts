import { findNodeAtLocation, type Node, parse, parseTree } from 'jsonc-parser'
import type { Finding } from './finding.ts'
import type { ProjectFiles } from './project-files.ts'

/**
 * Finds packages that the compiler treats as CommonJS. The old packages have a build for CommonJS; Tenon has modules only, which
 * these settings refuse to import: TS1479.
 */
export function commonJsFindings({ packages, configs, sources }: ProjectFiles): Finding[] {
  return [...packages].flatMap(([path, text]) => {
    const folder = path.slice(0, -'package.json'.length)
    const root = parseTree(text)
    const type = root && findNodeAtLocation(root, ['type'])
    const config = configs.get(`${folder}tsconfig.json`)
    const hasTypeScript = [...sources.keys()].some((name) => name.startsWith(folder) && /\.tsx?$/.test(name))
    if (!root || type?.value === 'module' || !hasTypeScript || config === undefined || !followsType(config)) return []
    return [finding(path, text, type?.parent ?? findNodeAtLocation(root, ['name'])?.parent)]
  })
}

/** Whether `"type"` of package.json decides what a file is. */
function followsType(config: string): boolean {
  const { compilerOptions = {} } = (parse(config) ?? {}) as { compilerOptions?: Record<string, unknown> }
  return /^node(?:16|18|20|next)$/i.test(String(compilerOptions.module ?? compilerOptions.moduleResolution ?? ''))
}

function finding(file: string, text: string, at: Node | undefined): Finding {
  const offset = at?.offset ?? 0
  return {
    file,
    line: text.slice(0, offset).split('\n').length,
    found: at ? text.slice(offset, offset + at.length) : 'package.json',
    reason:
      'This package is CommonJS, and Tenon has ECMAScript modules only. Older compilers report TS1479 for the imports.',
    action:
      'Set "type": "module". Or keep CommonJS: use TypeScript 5.8 or newer with "module": "nodenext", and Node.js 20.19 or newer.',
  }
}
