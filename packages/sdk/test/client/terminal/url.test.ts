import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Person } from './support.ts'

const page = 'https://xn--pple-43d.com:8443/login?client_id=1&state=abc%1B#top'

describe('URL elicitation on the terminal', () => {
  it('shows the server, the full URL and its host before it asks for consent [ELIC-046, ELIC-050]', async () => {
    const long = `${page}${'x'.repeat(6_000)}`
    const person = new Person()
    const result = person.visit(long)
    await person.sees('Do you agree')
    const before = person.screen
    expect(before).toContain('From  weather (self-reported)\nAt    https://weather.example/mcp\n')
    expect(before).toContain(`\n${long}\n`)
    expect(before).toContain('\nHost  xn--pple-43d.com:8443\n')
    person.type('yes')
    expect(await result).toEqual({ action: 'accept' })
  })

  it('highlights the host and marks each warning [ELIC-047]', async () => {
    const person = new Person({ color: true }).type('no')
    await person.visit(page, { warnings: ['The host is written in punycode.', 'The port is unusual.'] })
    expect(person.screen).toContain('Host  \u001b[1mxn--pple-43d.com:8443\u001b[0m\n')
    expect(person.screen).toContain('\u001b[33m! Warning: The host is written in punycode.\u001b[0m\n')
    expect(person.screen).toContain('\u001b[33m! Warning: The port is unusual.\u001b[0m\n')
  })

  it.each([
    ['yes', 'accept'],
    ['y', 'accept'],
    ['no', 'decline'],
    ['decline', 'decline'],
    ['!decline', 'decline'],
    ['cancel', 'cancel'],
    ['!cancel', 'cancel'],
  ])('maps the input %s to %s', async (line, action) => {
    expect(await new Person().type(line).visit(page)).toEqual({ action })
  })

  it('accepts only an explicit yes as consent [ELIC-045]', async () => {
    const person = new Person().type('', 'ok', 'accept', '1', 'cancel')
    expect(await person.visit(page)).toEqual({ action: 'cancel' })
    expect(person.screen.match(/Please type yes, decline or cancel\./g)).toHaveLength(4)
  })

  it('fetches nothing, before or after consent [ELIC-044, ELIC-052]', async () => {
    let connections = 0
    const site = createServer((_, response) => response.end())
    site.on('connection', () => connections++)
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void site.close())
    const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`
    const person = new Person().type('yes')
    await person.visit(url)
    expect(person.screen).toContain('The URL was not opened.')
    expect(connections).toBe(0)
    // Verify that the counter works.
    await fetch(url)
    expect(connections).toBe(1)
  })
})
