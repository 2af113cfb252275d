import { connect } from 'node:net'
import { Failure, silenceMs } from './child.js'
import { verify } from './load.js'
import { firstNumber, numberPlaces, writeNumber } from './messages.js'

// The load generator over HTTP. Like the one over stdio it has to be much cheaper than the servers it measures:
// requests are precomputed bytes on raw sockets, and only the head of a response is parsed. Some responses are kept and
// checked after the measurement.

/**
 * Keeps one request in flight on each connection until `seconds` have passed or `count` responses have arrived,
 * whichever is given. The first response, and every `sampleEvery`-th, goes to `check(result, number)`.
 */
export async function pumpHttp(
  { child, connections },
  { seconds = Infinity, count = Infinity, sampleEvery = 500, check },
) {
  const samples = []
  let sent = 0
  let answers = 0
  let figures
  let stop

  for (const connection of connections) await connection.reopen()
  const cpuBefore = child.cpuSeconds()
  const start = performance.now()
  const finished = new Promise((resolve, reject) => {
    const onAnswer = (connection) => {
      answers++
      if (connection.keeps) samples.push(connection.takeBytes())
      // Responses after the end of the measurement are awaited, not counted.
      if (figures === undefined) {
        const elapsed = (performance.now() - start) / 1000
        if (elapsed >= seconds || answers >= count) {
          figures = { count: answers, seconds: elapsed, cpuSeconds: child.cpuSeconds() - cpuBefore }
        } else {
          send(connection)
        }
      }
      if (figures !== undefined && answers === sent) resolve()
    }
    for (const connection of connections) connection.expect(onAnswer, reject)
    stop = watchSilence(() => answers, reject)
  })
  const send = (connection) => {
    if (sent % sampleEvery === 0) connection.keep()
    connection.sendNext(firstNumber + sent++)
  }
  for (const connection of connections) send(connection)
  try {
    await finished
  } finally {
    stop()
    for (const connection of connections) connection.expect()
  }
  for (const { status, text } of samples.map(parseResponse)) {
    if (status !== 200) throw new Failure(`answered with HTTP ${status}`)
    verify(text, firstNumber, firstNumber + sent, check)
  }
  return figures
}

/** A keep-alive connection with at most one request in flight. */
export class Connection {
  /** The headers that every later request on this connection needs. */
  headers
  #url
  #socket
  #meter = new ResponseMeter()
  #request
  #places
  #kept
  #onAnswer
  #onFailure

  static async open(url, headers) {
    const connection = new Connection()
    connection.headers = headers
    connection.#url = new URL(url)
    await connection.#connect()
    return connection
  }

  /** Reconnects if the server has closed the connection, which may happen while other contestants are measured. */
  async reopen() {
    if (this.#socket.destroyed) await this.#connect()
  }

  /** Sends one message and returns its response. */
  ask(message) {
    return new Promise((resolve, reject) => {
      this.expect(() => resolve(this.take()), reject)
      this.keep()
      const body = JSON.stringify(message)
      this.#socket.write(requestHead('POST', this.#url, this.headers, Buffer.byteLength(body)) + body)
    }).finally(() => this.expect())
  }

  /** Prepares the request that `sendNext` sends. */
  prepare(template) {
    const body = Buffer.from(JSON.stringify(template))
    const head = Buffer.from(requestHead('POST', this.#url, this.headers, body.length))
    this.#places = numberPlaces(body).map((place) => head.length + place)
    this.#request = Buffer.concat([head, body])
  }

  /** Sends the prepared request. Its bytes can be reused: the previous response proves that they were sent. */
  sendNext(number) {
    writeNumber(this.#request, 0, this.#places, number)
    this.#socket.write(this.#request)
  }

  /** Sets the callbacks for responses and failures; none while the connection is idle. */
  expect(onAnswer, onFailure) {
    this.#onAnswer = onAnswer
    this.#onFailure = onFailure
  }

  /** Keeps the bytes of the next response. */
  keep() {
    this.#kept = []
  }

  get keeps() {
    return this.#kept !== undefined
  }

  /** Returns the response that was kept. */
  take() {
    return parseResponse(this.takeBytes())
  }

  /** Returns the bytes of the response that was kept. */
  takeBytes() {
    const bytes = this.#kept.length === 1 ? this.#kept[0] : Buffer.concat(this.#kept)
    this.#kept = undefined
    return bytes
  }

  close() {
    this.expect()
    this.#socket.destroy()
  }

  #connect() {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: this.#url.hostname, port: this.#url.port, noDelay: true })
      const fail = (reason) => {
        if (socket === this.#socket) this.#onFailure?.(new Failure(reason))
      }
      this.#socket = socket
      this.expect(undefined, reject)
      socket
        .on('connect', resolve)
        .on('data', (chunk) => this.#read(chunk))
        .on('error', (error) => fail(`connection lost: ${error.message}`))
        .on('close', () => fail('connection closed'))
    })
  }

  #read(chunk) {
    this.#kept?.push(chunk)
    if (!this.#meter.push(chunk)) return
    const { status } = this.#meter
    if (status < 300) this.#onAnswer?.(this)
    else this.#onFailure?.(new Failure(`answered with HTTP ${status}`))
  }
}

/** Opens a GET stream and returns its socket once the server has answered. */
export function openStream(address, headers) {
  const url = new URL(address)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: url.port })
    socket.once('data', (chunk) => {
      const status = chunk.latin1Slice(9, 12)
      if (status === '200') resolve(socket)
      else reject(new Failure(`answered with HTTP ${status}`))
    })
    socket.on('error', (error) => reject(new Failure(`connection lost: ${error.message}`)))
    socket.on('close', () => reject(new Failure('connection closed')))
    socket.write(requestHead('GET', url, headers, 0))
    socket.resume()
  })
}

/** Detects the end of a response. */
class ResponseMeter {
  status = 0
  /** The beginning of a head that arrived in several chunks. */
  #start
  /** Remaining bytes of the body: Infinity for a chunked body, undefined before the head has arrived. */
  #left
  #tail = ''

  /** Consumes the next bytes; returns true if they complete a response. */
  push(chunk) {
    const bytes = this.#start === undefined ? chunk : Buffer.concat([this.#start, chunk])
    let bodyAt = 0
    if (this.#left === undefined) {
      const end = bytes.indexOf(headEnd)
      this.#start = end === -1 ? bytes : undefined
      if (end === -1) return false
      this.#readHead(bytes.latin1Slice(0, end + 2))
      bodyAt = end + headEnd.length
    }
    if (this.#left === Infinity) {
      // Neither JSON nor an event contains CRLF, so what looks like the last chunk is the last chunk.
      this.#tail = (this.#tail + bytes.latin1Slice(Math.max(bodyAt, bytes.length - lastChunk.length))).slice(
        -lastChunk.length,
      )
      if (this.#tail !== lastChunk) return false
    } else {
      this.#left -= bytes.length - bodyAt
      if (this.#left > 0) return false
    }
    this.#left = undefined
    this.#tail = ''
    return true
  }

  #readHead(head) {
    this.status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)
    if (length !== null) this.#left = Number(length[1])
    else this.#left = chunkedEncoding.test(head) ? Infinity : 0
  }
}

const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = '0\r\n\r\n'
const chunkedEncoding = /\r\ntransfer-encoding: *chunked\r\n/i

function parseResponse(bytes) {
  const end = bytes.indexOf(headEnd)
  const head = bytes.latin1Slice(0, end + 2)
  const body = bytes.subarray(end + headEnd.length)
  return {
    status: Number(head.slice(9, 12)),
    header: (name) => new RegExp(`\\r\\n${name}: *(.*?)\\r\\n`, 'i').exec(head)?.[1],
    text: textOf(head, (chunkedEncoding.test(head) ? joinChunks(body) : body).toString()),
  }
}

/** Returns the JSON of a response, which may be the last event of a stream. */
function textOf(head, text) {
  if (!/\r\ncontent-type: *text\/event-stream/i.test(head)) return text
  return text.match(/(?<=^data: ?).+/gm)?.at(-1) ?? ''
}

function joinChunks(body) {
  const parts = []
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.latin1Slice(at, lineEnd), 16)
    if (size === 0) return Buffer.concat(parts)
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

function requestHead(method, url, headers, bodyBytes) {
  const all = { Host: url.host, ...headers, ...(bodyBytes > 0 && { 'Content-Length': bodyBytes }) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Fails if the counter stops increasing. Returns a function that ends the watch. */
function watchSilence(counter, fail) {
  let seen = counter()
  const timer = setInterval(() => {
    if (counter() === seen) fail(new Failure(`silent for ${silenceMs / 1000} s`))
    seen = counter()
  }, silenceMs)
  return () => clearInterval(timer)
}
