import { expect, it } from 'vitest'
import { coversCommand, isApprover } from './approver.ts'
import type { Finding } from './findings/finding.ts'
import { isGrant } from './grants.ts'

const finding = (severity: Finding['severity'], rule: Finding['rule']): Finding => ({
  rule,
  severity,
  where: 'command',
  message: '',
  excerpt: '',
})

it('needs a person for a command that looks dangerous or, if it is unknown who approved it, for any launcher', () => {
  const dangerous = [finding('high', 'dangerous-command')]
  const unknown = [finding('low', 'unknown-launcher')]
  const other = [finding('low', 'dangerous-command')]
  expect([dangerous, unknown, other, []].map((found) => coversCommand({ by: 'user' }, found))).toEqual([
    true,
    true,
    true,
    true,
  ])
  expect([dangerous, unknown, other, []].map((found) => coversCommand({ by: 'program' }, found))).toEqual([
    false,
    true,
    true,
    true,
  ])
  expect([dangerous, unknown, other, []].map((found) => coversCommand({}, found))).toEqual([false, false, true, true])
})

it('rejects an approver of a store that is not one', () => {
  for (const value of [{}, { by: 'user' }, { by: 'program', program: 'tenon' }]) expect(isApprover(value)).toBe(true)
  for (const value of [null, 'user', [], { by: 'root' }, { program: 5 }, { by: 'user', program: null }])
    expect(isApprover(value)).toBe(false)
})

it('rejects a grant of a store with any member that is not valid [HOST-010]', () => {
  const grant = {
    id: '1',
    duration: 'always',
    server: 'files',
    kind: 'tool',
    covers: 'action',
    name: 'read',
    digest: 'd',
    from: ['mail'],
    createdAt: 1,
    expiresAt: 2,
    lastUsedAt: 1,
    by: 'user',
  }
  expect(isGrant(grant)).toBe(true)
  expect(isGrant({ ...grant, covers: 'server', name: undefined, lastUsedAt: undefined, from: [] })).toBe(true)
  expect([null, 'x', []].map(isGrant)).toEqual([false, false, false])
  for (const wrong of [
    { id: 1 },
    { server: undefined },
    { kind: null },
    { digest: 5 },
    { duration: 'session' },
    { covers: 'all' },
    { name: 5 },
    { from: 'mail' },
    { from: [5] },
    { createdAt: '1' },
    { expiresAt: Number.POSITIVE_INFINITY },
    { lastUsedAt: 'x' },
    { by: 'root' },
  ])
    expect([wrong, isGrant({ ...grant, ...wrong })]).toEqual([wrong, false])
})
