import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long something may take to appear on a busy machine. */
const patienceMs = Number(process.env.PATIENCE_MS ?? 30_000)

const keys = {
  ArrowDown: { code: 'ArrowDown', windowsVirtualKeyCode: 40 },
  ArrowUp: { code: 'ArrowUp', windowsVirtualKeyCode: 38 },
  ArrowLeft: { code: 'ArrowLeft', windowsVirtualKeyCode: 37 },
  ArrowRight: { code: 'ArrowRight', windowsVirtualKeyCode: 39 },
  Home: { code: 'Home', windowsVirtualKeyCode: 36 },
  End: { code: 'End', windowsVirtualKeyCode: 35 },
  Enter: { code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
  Escape: { code: 'Escape', windowsVirtualKeyCode: 27 },
  Tab: { code: 'Tab', windowsVirtualKeyCode: 9 },
  '?': { code: 'Slash', windowsVirtualKeyCode: 191, text: '?' },
  '/': { code: 'Slash', windowsVirtualKeyCode: 191, text: '/' },
  w: { code: 'KeyW', windowsVirtualKeyCode: 87, text: 'w' },
  c: { code: 'KeyC', windowsVirtualKeyCode: 67, text: 'c' },
  j: { code: 'KeyJ', windowsVirtualKeyCode: 74, text: 'j' },
}

/** The inspector in a tab, used as a user does: elements are found by role and name, clicked and typed into. */
export class InspectorTab {
  constructor(page) {
    this.page = page
  }

  /** Opens the page and waits until it shows something. */
  static async open(browser, url, options) {
    const tab = new InspectorTab(await browser.open(options))
    await tab.page.visit(url)
    await tab.see('Tenon inspector')
    return tab
  }

  /** Clicks an element, at its middle. `name` is the accessible name or a pattern. */
  async click(role, name, options) {
    const node = await this.#find(role, name, options)
    await this.#clickNode(node)
  }

  /** Gives the focus to an element. */
  async focus(role, name) {
    await this.page.send('DOM.focus', { backendNodeId: await this.#find(role, name) })
  }

  /** Drags an element by its middle, horizontally. */
  async drag(role, name, byX) {
    const { x, y } = await this.#middleOf(await this.#find(role, name))
    const at = { y, button: 'left', buttons: 1, clickCount: 1 }
    await this.page.send('Input.dispatchMouseEvent', { ...at, x, type: 'mousePressed' })
    await this.page.send('Input.dispatchMouseEvent', { ...at, x: x + byX / 2, type: 'mouseMoved' })
    await this.page.send('Input.dispatchMouseEvent', { ...at, x: x + byX, type: 'mouseMoved' })
    await this.page.send('Input.dispatchMouseEvent', { ...at, x: x + byX, type: 'mouseReleased' })
  }

  /** Clicks a row of a list by its text. */
  async choose(text) {
    await this.click('option', text)
  }

  /** Replaces the text of a field. */
  async fill(role, name, text) {
    const node = await this.#find(role, name)
    await this.page.send('DOM.focus', { backendNodeId: node })
    await this.#onNode(node, 'function () { this.select?.() }')
    if (text === '') await this.press('Delete')
    else await this.page.send('Input.insertText', { text })
  }

  /** Sets a field that opens a widget of the browser: a select, a date. */
  async set(role, name, value) {
    const node = await this.#find(role, name)
    const set = `function (value) {
      const option = [...(this.options ?? [])].find((each) => each.text === value)
      this.value = option ? option.value : value
      this.dispatchEvent(new Event('input', { bubbles: true }))
      this.dispatchEvent(new Event('change', { bubbles: true }))
    }`
    await this.#onNode(node, set, [value])
  }

  /** Gives files to a file input. */
  async upload(selector, files) {
    const { root } = await this.page.send('DOM.getDocument', { depth: 0 })
    const { nodeId } = await this.page.send('DOM.querySelector', { nodeId: root.nodeId, selector })
    await this.page.send('DOM.setFileInputFiles', { nodeId, files })
  }

  /** Presses a key, with modifiers: `press('Enter', { ctrl: true })`. */
  async press(key, { ctrl = false, shift = false } = {}) {
    const { text, ...rest } = keys[key] ?? { code: key, windowsVirtualKeyCode: key === 'Delete' ? 46 : 0 }
    const event = { key, ...rest, modifiers: (ctrl ? 2 : 0) + (shift ? 8 : 0) }
    const down = text && !ctrl ? { type: 'keyDown', text } : { type: 'rawKeyDown' }
    await this.page.send('Input.dispatchKeyEvent', { ...event, ...down })
    await this.page.send('Input.dispatchKeyEvent', { ...event, type: 'keyUp' })
  }

  async type(text) {
    await this.page.send('Input.insertText', { text })
  }

  /** Waits until the page shows a text, or a part of it does. */
  async see(text, selector = 'body') {
    const source = text instanceof RegExp ? text : new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    return until(async () => {
      const shown = await this.text(selector)
      if (!source.test(shown)) throw new Error(`${selector} does not show ${source}, but:\n${shown.slice(0, 3_000)}`)
      return shown
    })
  }

  /** Waits until a part of the page does not show a text. */
  async seeNot(text, selector = 'body') {
    return until(async () => assert.ok(!(await this.text(selector)).includes(text), `${selector} still shows ${text}`))
  }

  async text(selector = 'body') {
    return this.page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => each.innerText).join('\\n')`,
    )
  }

  /** Whether an element with this role and name is there. */
  async has(role, name) {
    return (await this.#all(role, name)).length > 0
  }

  async #find(role, name, { nth = 0 } = {}) {
    return until(async () => {
      const found = await this.#all(role, name)
      if (found.length > nth) return found[nth].backendDOMNodeId
      const names = (await this.#all(role)).map((node) => node.name?.value)
      throw new Error(`There is no ${role} "${name}", only ${JSON.stringify(names.slice(0, 60))}`)
    })
  }

  async #all(role, name) {
    const { root } = await this.page.send('DOM.getDocument', { depth: 0 })
    const query = { backendNodeId: root.backendNodeId, role }
    const { nodes } = await this.page.send('Accessibility.queryAXTree', query)
    const isIt = (found = '') =>
      name === undefined || (name instanceof RegExp ? name.test(found) : found.trim() === name)
    return nodes.filter((node) => !node.ignored && isIt(node.name?.value))
  }

  async #clickNode(backendNodeId) {
    const at = { ...(await until(() => this.#restingMiddleOf(backendNodeId))), button: 'left', clickCount: 1 }
    await this.page.send('Input.dispatchMouseEvent', { ...at, type: 'mousePressed' })
    await this.page.send('Input.dispatchMouseEvent', { ...at, type: 'mouseReleased' })
  }

  /** Parts of the page get their size when they come into view, and a click on something that moves hits something else. */
  async #restingMiddleOf(backendNodeId) {
    await this.page.send('DOM.scrollIntoViewIfNeeded', { backendNodeId })
    const before = await this.#middleOf(backendNodeId)
    await this.page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
    const now = await this.#middleOf(backendNodeId)
    if (before.x !== now.x || before.y !== now.y) throw new Error('The element moves')
    return now
  }

  async #middleOf(backendNodeId) {
    const { quads } = await this.page.send('DOM.getContentQuads', { backendNodeId })
    const [x1, y1, , , x2, y2] = quads[0]
    return { x: (x1 + x2) / 2, y: (y1 + y2) / 2 }
  }

  async #onNode(backendNodeId, functionDeclaration, args = []) {
    const { object } = await this.page.send('DOM.resolveNode', { backendNodeId })
    const call = { objectId: object.objectId, functionDeclaration, arguments: args.map((value) => ({ value })) }
    await this.page.send('Runtime.callFunctionOn', call)
  }
}

/** Repeats until it does not throw. */
export async function until(attempt) {
  const deadline = Date.now() + patienceMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    await sleep(40)
  }
}
