import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const keys = {
  Tab: { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 },
  Enter: { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
  Space: { key: ' ', code: 'Space', windowsVirtualKeyCode: 32, text: ' ' },
  ArrowDown: { key: 'ArrowDown', code: 'ArrowDown', windowsVirtualKeyCode: 40 },
}

/** Viewports and colour schemes of the pages; the first one is the default. */
export const looks = {
  light: { width: 1280, height: 800, scheme: 'light' },
  dark: { width: 1280, height: 800, scheme: 'dark' },
  phone: { width: 375, height: 667, scheme: 'light', mobile: true },
  'phone-dark': { width: 375, height: 667, scheme: 'dark', mobile: true },
}

/** A tab. Records the requests, the scripts that ran and the problems that the browser reported. */
export class Page {
  /** Requests in order: `method`, `url`, `referrer`, and `status` once it is known. */
  requests = []
  /** The URL of each script that ran. Empty on pages of the library. */
  scripts = []
  /** Console messages and issues reported by the browser: policy violations, refused frames, missing files. */
  complaints = []
  #browser
  #sessionId

  constructor(browser, sessionId, profile) {
    this.#browser = browser
    this.#sessionId = sessionId
    this.profile = profile
  }

  async prepare({ look = 'light' } = {}) {
    this.#watch()
    for (const domain of ['Page', 'Network', 'Log', 'Runtime', 'Audits', 'Accessibility', 'Debugger']) {
      await this.send(`${domain}.enable`)
    }
    await this.send('Page.setLifecycleEventsEnabled', { enabled: true })
    await this.look(look)
  }

  send(method, params) {
    return this.#browser.send(method, params, this.#sessionId)
  }

  async look(name) {
    const { width, height, scheme, mobile = false } = looks[name]
    const deviceScaleFactor = mobile ? 2 : 1
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor, mobile })
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
  }

  /** Navigates to a page without a referrer and waits until it has loaded. */
  async visit(url) {
    await this.#arrive(async () => {
      const { errorText } = await this.send('Page.navigate', { url: String(url) })
      // An error response with a body is a page too.
      if (errorText !== undefined && errorText !== 'net::ERR_HTTP_RESPONSE_CODE_FAILURE') throw new Error(errorText)
    })
  }

  async press(name) {
    const { text, ...key } = keys[name]
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...key, ...(text && { text }) })
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...key })
  }

  /** Presses the key and waits for the page that it leads to. */
  async pressAndArrive(name) {
    await this.#arrive(() => this.press(name))
  }

  /** Presses the key and waits for a request whose URL starts with this prefix, which may not load a page. */
  async pressAndAsk(name, start) {
    const asked = this.#next('Network.requestWillBeSent', ({ request }) => request.url.startsWith(start))
    await this.press(name)
    const { request } = await asked
    return request.url
  }

  /** Presses Tab until the element with this accessible role and name has the focus. */
  async tabTo(role, name) {
    const passed = []
    for (let stops = 0; stops < 20; stops++) {
      await this.press('Tab')
      const focused = await this.focused()
      if (focused?.role === role && focused.name === name) return
      passed.push(`${focused?.role} ${JSON.stringify(focused?.name)}`)
    }
    throw new Error(`No Tab leads to ${role} ${JSON.stringify(name)}, only to ${passed.join(', ')}`)
  }

  async focused() {
    const { nodes } = await this.send('Accessibility.getFullAXTree')
    const found = nodes.filter(({ properties = [] }) => properties.some(isFocused)).at(-1)
    return found && { role: found.role?.value, name: found.name?.value.trim() }
  }

  /** Returns the visible text of the page. */
  async text() {
    return this.evaluate('document.body.innerText')
  }

  async url() {
    return this.evaluate('location.href')
  }

  async title() {
    return this.evaluate('document.title')
  }

  /** Evaluates an expression that navigates, and waits for the next page. */
  async evaluateAndArrive(expression) {
    await this.#arrive(() => this.evaluate(expression))
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }

  /** Returns the URLs of the frames in the page. */
  async frames() {
    const { frameTree } = await this.send('Page.getFrameTree')
    return (frameTree.childFrames ?? []).map(({ frame }) => frame.url)
  }

  /** Returns whether the page overflows horizontally. */
  async isTooWide() {
    return this.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
  }

  /** Writes a screenshot of every look into the folder named by SHOTS, if set. */
  async shoot(name) {
    const folder = process.env.SHOTS
    if (!folder) return
    mkdirSync(folder, { recursive: true })
    for (const look of Object.keys(looks)) {
      await this.look(look)
      const { data } = await this.send('Page.captureScreenshot', { captureBeyondViewport: looks[look].mobile === true })
      writeFileSync(join(folder, `${name}-${look}.png`), Buffer.from(data, 'base64'))
    }
    await this.look('light')
  }

  #watch() {
    this.#on('Network.requestWillBeSent', ({ requestId, request, redirectResponse }) => {
      if (redirectResponse) this.#answered(requestId, redirectResponse)
      this.requests.push({
        id: requestId,
        method: request.method,
        url: request.url,
        referrer: request.headers.Referer || undefined,
      })
    })
    this.#on('Network.responseReceived', ({ requestId, response }) => this.#answered(requestId, response))
    this.#on('Debugger.scriptParsed', ({ url, stackTrace }) => {
      // Scripts evaluated by the driver have neither.
      if (url !== '' || stackTrace) this.scripts.push(url)
    })
    this.#on('Log.entryAdded', ({ entry }) => this.complaints.push(entry.text))
    this.#on('Runtime.exceptionThrown', ({ exceptionDetails }) => this.complaints.push(exceptionDetails.text))
    this.#on('Runtime.consoleAPICalled', ({ args }) => this.complaints.push(JSON.stringify(args)))
    this.#on('Audits.issueAdded', ({ issue }) => this.complaints.push(JSON.stringify(issue)))
  }

  /** A redirect keeps the id of the request. */
  #answered(requestId, { status }) {
    const request = this.requests.findLast(({ id }) => id === requestId)
    if (request) request.status = status
  }

  #on(event, listener) {
    this.#browser.on(event, (params, sessionId) => sessionId === this.#sessionId && listener(params))
  }

  /** Waits for the load event of the final page, not for redirects. */
  async #arrive(leave) {
    const controller = new AbortController()
    const arrived = this.#next('Page.loadEventFired', () => true, controller.signal)
    try {
      await leave()
      await arrived
    } catch (error) {
      controller.abort()
      await arrived.catch(() => {})
      throw error
    }
  }

  async #next(event, isIt, signal) {
    for (;;) {
      const [params, sessionId] = await once(this.#browser, event, { signal })
      if (sessionId === this.#sessionId && isIt(params)) return params
    }
  }
}

function isFocused({ name, value }) {
  return name === 'focused' && value.value === true
}
