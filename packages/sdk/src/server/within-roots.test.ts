import { describe, expect, it } from 'vitest'
import { isWithinRoots } from './within-roots.ts'

const roots = [{ uri: 'file:///home/ann/project' }, { uri: 'file:///C:/Users/Ann/My%20Files/' }]

describe('isWithinRoots', () => {
  it.each([
    'file:///home/ann/project',
    'file:///home/ann/project/',
    'file:///home/ann/project/src/a.ts',
    'file:///home/ann/project/src/../b.ts',
    '/home/ann/project/src/a file#1?.ts',
    'file:///c:/Users/Ann/My%20Files/x.txt',
    'C:\\Users\\Ann\\My Files\\x.txt',
  ])('accepts %s [ROOT-009]', (file) => {
    expect(isWithinRoots(file, roots)).toBe(true)
  })

  it.each([
    'file:///home/ann/project-2/a.ts',
    'file:///home/ann',
    'file:///home/ann/project/../secret',
    'file:///home/ann/project/%2e%2e/secret',
    'file:///home/ann/project/..%2fsecret',
    'file:///home/ann/project/%5c..%5csecret',
    'file:///home/ann/project/a%00.ts',
    'file:///home/ann/project/%E0%A4%A',
    '/home/ann/project/../../bob/a.ts',
    'C:\\Users\\Ann\\My Files\\..\\..\\Bob',
    'file://host/home/ann/project/a.ts',
    'https://example.com/home/ann/project/a.ts',
    'home/ann/project/a.ts',
    '',
  ])('rejects %j [ROOT-009]', (file) => {
    expect(isWithinRoots(file, roots)).toBe(false)
  })

  it('accepts every path when the root is the whole disk, and none without roots', () => {
    expect(isWithinRoots('/etc/passwd', [{ uri: 'file:///' }])).toBe(true)
    expect(isWithinRoots('/etc/passwd', [])).toBe(false)
    expect(isWithinRoots('/etc/passwd', [{ uri: 'not a uri' }])).toBe(false)
  })
})
