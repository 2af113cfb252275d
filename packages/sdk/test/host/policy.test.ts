import { describe, expect, it } from 'vitest'
import type { ActionServer, HostAction, ToolAction } from '../../src/host/action.ts'
import { compileGlob } from '../../src/host/glob.ts'
import type { Policy, PolicyRule } from '../../src/host/policy.ts'
import { checkPolicy } from '../../src/host/policy-check.ts'
import { compilePolicy, decide, type PolicyDecision } from '../../src/host/policy-match.ts'
import type { Tool } from '../../src/protocol/tools.ts'

const server = (id = 'files', trust: ActionServer['trust'] = 'untrusted'): ActionServer => ({
  id,
  trust,
  address: 'node a.js',
})

interface CallOptions {
  tool?: string
  arguments?: Record<string, unknown>
  from?: string[]
  server?: ActionServer
  annotations?: Tool['annotations']
}

function call(options: CallOptions = {}): ToolAction {
  const { tool = 'read', arguments: given = {}, from = [], annotations } = options
  const definition: Tool = { name: tool, inputSchema: { type: 'object' }, ...(annotations && { annotations }) }
  const flows = from.map((id) => ({ from: id, path: 'text', excerpt: '...' }))
  return {
    kind: 'tool',
    server: options.server ?? server(),
    tool: definition,
    name: `files_${tool}`,
    arguments: given,
    flows,
  }
}

const resource = (uri: string): HostAction => ({ kind: 'resource', server: server(), uri })

const decisionOf = (policy: Policy | undefined, action: HostAction) =>
  (decide(policy, action) as PolicyDecision).decision

/** Whether a rule that denies, or another decision, matches. */
const matches = (rule: Omit<PolicyRule, 'decide'>, action: HostAction, decide: PolicyRule['decide'] = 'deny') =>
  decisionOf([{ ...rule, decide }, { decide: decide === 'ask' ? 'deny' : 'ask' }], action) === decide

describe('a policy', () => {
  it('asks the user if no rule decides', () => {
    expect(decide(undefined, call())).toEqual({ decision: 'ask', rule: undefined })
    expect(decide([], call())).toEqual({ decision: 'ask', rule: undefined })
    expect(decide([{ tool: 'write', decide: 'allow' }], call())).toEqual({ decision: 'ask', rule: undefined })
  })

  it('decides by the first rule that matches, and says which', () => {
    const policy: Policy = [
      { server: 'web', decide: 'deny' },
      { tool: 'read', decide: 'allow' },
      { tool: '*', decide: 'deny' },
    ]
    expect(decide(policy, call())).toEqual({ decision: 'allow', rule: 1 })
    expect(decide(policy, call({ tool: 'write' }))).toEqual({ decision: 'deny', rule: 2 })
    expect(decide(policy, call({ server: server('web') }))).toEqual({ decision: 'deny', rule: 0 })
  })

  it('matches kinds, servers, tools, prompts and resources', () => {
    const prompt: HostAction = { kind: 'prompt', server: server(), prompt: 'review', arguments: {} }
    expect(matches({ kind: 'tool' }, call())).toBe(true)
    expect(matches({ kind: ['prompt', 'resource'] }, call())).toBe(false)
    expect(matches({ server: ['web', 'fi*'] }, call())).toBe(true)
    expect(matches({ tool: 're*' }, call())).toBe(true)
    expect(matches({ tool: 'files_write' }, call())).toBe(false)
    expect(matches({ tool: '*' }, prompt)).toBe(false)
    expect(matches({ prompt: 'rev*' }, prompt)).toBe(true)
    expect(matches({ prompt: '*' }, call())).toBe(false)
    expect(matches({ resource: 'file:///a/*' }, resource('file:///a/b'))).toBe(true)
    expect(matches({ resource: '*' }, call())).toBe(false)
    expect(matches({}, prompt)).toBe(true)
  })

  it('matches a tool or prompt also by its name in the catalog, for every decision', () => {
    const prompt: HostAction = {
      kind: 'prompt',
      server: server(),
      prompt: 'review',
      name: 'files_review',
      arguments: {},
    }
    const resultOf = (of: 'tool' | 'prompt', name: string): HostAction => ({
      kind: 'result',
      server: server(),
      of,
      name,
      catalogName: `files_${name}`,
      findings: [],
      result: {},
    })
    for (const decision of ['allow', 'deny', 'ask'] as const) {
      for (const tool of ['files_read', 'files_*', 'read', ['x', 'files_read']]) {
        expect(matches({ tool }, call(), decision)).toBe(true)
        expect(matches({ tool, kind: 'result' }, resultOf('tool', 'read'), decision)).toBe(true)
      }
      for (const name of ['files_review', 'files_rev*']) {
        expect(matches({ prompt: name }, prompt, decision)).toBe(true)
        expect(matches({ prompt: name, kind: 'result' }, resultOf('prompt', 'review'), decision)).toBe(true)
      }
      expect(matches({ tool: ['files_rea', 'file_read', 'web_read', 'files_read_'] }, call(), decision)).toBe(false)
      expect(matches({ tool: 'files_read', server: 'web' }, call(), decision)).toBe(false)
    }
  })

  it('allows by a pattern of catalog names only tools of the server that the pattern names', () => {
    const push: ToolAction = { ...call({ tool: 'push', server: server('git_hub') }), name: 'git_hub_push' }
    expect(matches({ tool: 'git_*' }, push, 'allow')).toBe(false)
    expect(matches({ tool: 'git_h*' }, push, 'allow')).toBe(false)
    expect(matches({ tool: '*_push' }, push, 'allow')).toBe(false)
    expect(matches({ tool: 'git_hub_*' }, push, 'allow')).toBe(true)
    expect(matches({ tool: 'git_hub_push' }, push, 'allow')).toBe(true)
    for (const tool of ['git_*', 'git_h*', '*_push']) {
      expect(matches({ tool }, push, 'deny')).toBe(true)
      expect(matches({ tool }, push, 'ask')).toBe(true)
    }
  })

  it('does not take an inherited or missing argument for one that is there', () => {
    const deep = call({ arguments: { options: { mode: 'rw' }, list: ['x'] } })
    expect(matches({ arguments: { 'options.mode': 'r*' } }, deep)).toBe(true)
    expect(matches({ arguments: { 'options.mode': /^w/ } }, deep)).toBe(false)
    expect(matches({ arguments: { 'options.missing': '*' } }, deep)).toBe(false)
    expect(matches({ arguments: { 'options.constructor.name': '*' } }, deep)).toBe(false)
    expect(matches({ arguments: { toString: /./ } }, deep)).toBe(false)
    expect(matches({ arguments: { mode: 'r' } }, call({ arguments: Object.create({ mode: 'r' }) }))).toBe(false)
    expect(matches({ arguments: { 'list.length': '*' } }, call({ arguments: { list: 'text' } }))).toBe(false)
    expect(matches({ arguments: { options: '*' } }, deep)).toBe(false)
    expect(matches({ arguments: { n: '5', flag: 'true' } }, call({ arguments: { n: 5, flag: true } }))).toBe(true)
  })

  it('requires all items of a list to match before it allows, and one before it denies', () => {
    const mixed = call({ arguments: { paths: ['/public/a', '/etc/passwd'] } })
    const rule = { arguments: { paths: '/public/*' } }
    expect(matches(rule, mixed, 'allow')).toBe(false)
    expect(matches(rule, mixed, 'deny')).toBe(true)
    expect(matches(rule, call({ arguments: { paths: ['/public/a'] } }), 'allow')).toBe(true)
    expect(matches(rule, call({ arguments: { paths: [] } }), 'allow')).toBe(false)
  })

  it.each([
    '/srv/public/../../etc/passwd',
    '/srv/public/..',
    '/srv/public/%2e%2E/x',
    '/srv/public/..\\x',
    '/srv/public/%2e.%2fx',
  ])('does not allow a path that leaves the folder of the pattern: %s', (path) => {
    expect(matches({ arguments: { path: '/srv/public/*' } }, call({ arguments: { path } }), 'allow')).toBe(false)
    expect(matches({ resource: 'file:///srv/public/*' }, resource(`file://${path}`), 'allow')).toBe(false)
    expect(matches({ arguments: { path: '/srv/public/*' } }, call({ arguments: { path } }), 'deny')).toBe(true)
  })

  it('allows a path inside the folder of the pattern, also one with dots', () => {
    const inside = call({ arguments: { path: '/srv/public/a..b/c...d/.e' } })
    expect(matches({ arguments: { path: '/srv/public/*' } }, inside, 'allow')).toBe(true)
  })

  it('gives the same answer for every call with a global expression', () => {
    const decideNow = compilePolicy([{ arguments: { path: /a/g }, decide: 'allow' }])
    const answers = [1, 2, 3].map(() => (decideNow(call({ arguments: { path: 'ba' } })) as PolicyDecision).decision)
    expect(answers).toEqual(['allow', 'allow', 'allow'])
  })

  it('does not test an expression on a text that is too long, and then does not allow', () => {
    const long = call({ arguments: { path: `${'a'.repeat(100_000)}!` } })
    expect(matches({ arguments: { path: /^(a+)+$/ } }, long, 'allow')).toBe(false)
    expect(matches({ arguments: { path: /^(a+)+$/ } }, long, 'deny')).toBe(true)
  })
})

describe('annotations in a policy', () => {
  const trusted = server('files', 'trusted')
  const readOnly = { annotations: { readOnlyHint: true } }

  it('never match a tool of an untrusted server [TOOL-012, HOST-008]', () => {
    const annotations = { readOnlyHint: true }
    expect(matches(readOnly, call({ annotations }), 'allow')).toBe(false)
    expect(matches(readOnly, call({ annotations, server: trusted }), 'allow')).toBe(true)
    expect(matches({ annotations: { destructiveHint: true } }, call(), 'deny')).toBe(false)
  })

  it('have the defaults of the protocol if they are missing', () => {
    const plain = call({ server: trusted })
    expect(matches(readOnly, plain)).toBe(false)
    expect(matches({ annotations: { readOnlyHint: false, destructiveHint: true } }, plain)).toBe(true)
    expect(matches({ annotations: { idempotentHint: false, openWorldHint: true } }, plain)).toBe(true)
    expect(matches({ annotations: { destructiveHint: false } }, plain)).toBe(false)
  })

  it('match only hints that are true or false', () => {
    const annotations = JSON.parse('{"readOnlyHint":"true"}')
    expect(matches(readOnly, call({ annotations, server: trusted }), 'allow')).toBe(false)
    expect(matches(readOnly, call({ annotations: JSON.parse('"x"'), server: trusted }), 'allow')).toBe(false)
  })
})

describe('data of other servers', () => {
  it('is not covered by a rule that allows without naming where it came from', () => {
    const policy: Policy = [{ tool: 'read', decide: 'allow' }]
    expect(decisionOf(policy, call())).toBe('allow')
    expect(decisionOf(policy, call({ from: ['mail'] }))).toBe('ask')
  })

  it('is covered by a rule that names all of its sources', () => {
    const policy: Policy = [{ tool: 'read', from: ['mail', 'cal*'], decide: 'allow' }]
    expect(decisionOf(policy, call({ from: ['mail'] }))).toBe('allow')
    expect(decisionOf(policy, call({ from: ['mail', 'calendar'] }))).toBe('allow')
    expect(decisionOf(policy, call({ from: ['mail', 'web'] }))).toBe('ask')
    expect(decisionOf(policy, call())).toBe('ask')
  })

  it('is denied if one of its sources is', () => {
    const policy: Policy = [
      { from: 'mail', server: 'files', decide: 'deny' },
      { from: '*', decide: 'allow' },
    ]
    expect(decisionOf(policy, call({ from: ['web', 'mail'] }))).toBe('deny')
    expect(decisionOf(policy, call({ from: ['web'] }))).toBe('allow')
    expect(decisionOf([{ tool: 'read', decide: 'deny' }], call({ from: ['mail'] }))).toBe('deny')
  })
})

describe('connections and definitions', () => {
  const connect: HostAction = { kind: 'connect', server: server(), target: 'node a.js', env: [], before: undefined }
  const definitions: HostAction = { kind: 'definitions', server: server(), changes: [], isFirstUse: false }

  it('are allowed only by a rule that names their kind', () => {
    for (const action of [connect, definitions]) {
      expect(decisionOf([{ decide: 'allow' }], action)).toBe('ask')
      expect(decisionOf([{ server: 'files', decide: 'allow' }], action)).toBe('ask')
      expect(decisionOf([{ server: 'files', kind: action.kind, decide: 'allow' }], action)).toBe('allow')
      expect(decisionOf([{ server: 'files', decide: 'deny' }], action)).toBe('deny')
    }
    expect(decisionOf([{ server: 'files', decide: 'allow' }], call())).toBe('allow')
  })
})

describe('functions in a policy', () => {
  it('decide, or leave it to the next rule', async () => {
    const policy: Policy = [
      (action) => (action.kind === 'tool' && action.tool.name === 'drop' ? 'deny' : undefined),
      async (action) => (action.server.id === 'web' ? 'deny' : undefined),
      { decide: 'allow' },
    ]
    expect(decide(policy, call({ tool: 'drop' }))).toEqual({ decision: 'deny', rule: 0 })
    expect(await decide(policy, call({ server: server('web') }))).toEqual({ decision: 'deny', rule: 1 })
    expect(await decide(policy, call())).toEqual({ decision: 'allow', rule: 2 })
    expect(decide(() => 'allow', call())).toEqual({ decision: 'allow', rule: 0 })
  })

  it('fail if they return anything else', async () => {
    const yes = (() => true) as unknown as () => 'allow'
    expect(() => decide([{ tool: 'x', decide: 'deny' }, yes], call())).toThrow(
      "policy[1] returned true. Return 'allow'",
    )
    const later = (async () => 'yes') as unknown as () => Promise<'allow'>
    await expect(decide(later, call())).rejects.toThrow('policy[0] returned "yes"')
  })
})

describe('mistakes in a policy', () => {
  it.each<[unknown, string]>([
    [{}, 'policy is not a list of rules'],
    [['x'], 'policy[0] is not a rule'],
    [[null], 'policy[0] is not a rule'],
    [[{ tool: 'x' }], 'policy[0].decide is missing'],
    [[{ decide: 'yes' }], "policy[0].decide must be 'allow', 'deny' or 'ask'"],
    [[{ decide: 'ask' }, { tol: 'x', decide: 'deny' }], 'policy[1].tol is not a member of a rule'],
    [[{ constructor: 'x', decide: 'deny' }], 'policy[0].constructor is not a member of a rule'],
    [[{ tool: 5, decide: 'deny' }], 'policy[0].tool must be a text or a list of texts'],
    [[{ server: [], decide: 'deny' }], 'policy[0].server is an empty list'],
    [[{ from: [''], decide: 'deny' }], 'policy[0].from must be a text'],
    [[{ kind: 'tools', decide: 'deny' }], 'policy[0].kind has the unknown kind "tools"'],
    [[{ annotations: { readonly: true }, decide: 'deny' }], 'policy[0].annotations has the unknown hint "readonly"'],
    [[{ annotations: { readOnlyHint: 'yes' }, decide: 'deny' }], 'policy[0].annotations has a value'],
    [[{ arguments: { n: 5 }, decide: 'deny' }], 'policy[0].arguments has a value'],
    [[{ tool: 'x', resource: 'y', decide: 'deny' }], 'never match the same action'],
    [[{ tool: 'x', kind: 'resource', decide: 'deny' }], 'policy[0].tool never matches an action of this kind'],
  ])('are found at construction: %j', (policy, message) => {
    expect(() => checkPolicy(policy)).toThrow(TypeError)
    expect(() => checkPolicy(policy)).toThrow(message)
    expect(() => compilePolicy(policy as Policy)).toThrow(message)
  })

  it('are not found in a valid policy', () => {
    const rules: Policy = [
      { kind: ['tool', 'prompt'], server: ['a', 'b'], tool: 'x', from: '*', decide: 'ask' },
      () => undefined,
    ]
    expect(() => checkPolicy(rules)).not.toThrow()
    expect(() => checkPolicy(undefined)).not.toThrow()
  })
})

describe('a pattern', () => {
  it.each<[string, string[], string[]]>([
    ['read', ['read'], ['reads', 'rea', '']],
    ['*', ['', 'x', 'a\nb'], []],
    ['read_*', ['read_', 'read_x'], ['read', 'xread_']],
    ['*_file', ['_file', 'a_file'], ['_files']],
    ['a*b*c', ['abc', 'aXbXc', 'abbc', 'abcbc'], ['ac', 'acb', 'abcX']],
    ['ab*ba', ['abba', 'abXba'], ['aba', 'ab']],
    ['a*bc*c', ['abcc', 'abcXc'], ['abc']],
    ['a**b', ['ab', 'axb'], ['a']],
    ['a.c', ['a.c'], ['abc']],
    ['[a]*(b)', ['[a](b)'], ['ab']],
  ])('%s matches the right texts', (pattern, yes, no) => {
    const test = compileGlob(pattern)
    expect(yes.filter((text) => !test(text))).toEqual([])
    expect(no.filter((text) => test(text))).toEqual([])
  })

  it('with many stars does not backtrack', () => {
    const test = compileGlob(`${'*a'.repeat(50)}*c*b`)
    expect(test(`${'a'.repeat(1_000_000)}b`)).toBe(false)
  })
})
