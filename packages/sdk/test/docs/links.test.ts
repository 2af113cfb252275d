import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = new URL('../../../..', import.meta.url).pathname
const pages = ['.', 'docs'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
)

describe('links between the README, the docs and the other pages', () => {
  for (const page of pages) {
    it(`lead to files and headings that exist: ${page}`, () => {
      expect(linksOf(page).filter((link) => !leadsSomewhere(page, link))).toEqual([])
    })
  }

  it('reach every page of the docs from the README', () => {
    const linked = linksOf('README.md')
    expect(pages.filter((page) => page.startsWith('docs/') && !linked.includes(page))).toEqual([])
  })
})

function linksOf(page: string): string[] {
  return [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^\w+:/.test(link))
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(root, target))) return false
  return anchor === undefined || anchorsOf(target).includes(anchor)
}

/** Returns the anchors that GitHub generates for headings. */
function anchorsOf(page: string): string[] {
  const headings = [...withoutCode(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Removes code blocks, because comments in shell snippets look like headings. */
function withoutCode(page: string): string {
  return readFileSync(join(root, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '')
}
