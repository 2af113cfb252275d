import { Fault } from '../jsonrpc/message.ts'
import type { OutgoingRequest, Transport } from '../jsonrpc/transport.ts'
import { type Traceable, type TraceListener, Tracer } from '../protocol/trace.ts'
import type { ClientTransport } from '../protocol/transport.ts'

/** Returns a transport that reports its messages to the listener. The given one is not changed, apart from its `tracer`. */
export function traceTransport(
  transport: ClientTransport & Partial<Traceable>,
  listener: TraceListener,
): ClientTransport {
  const tracer = new Tracer(listener)
  if ('tracer' in transport) transport.tracer = tracer
  return transport.tracesMessages ? transport : new Proxy(transport, new TracingHandler(tracer))
}

/** Passes everything on to the transport itself, because private members are not visible through a proxy. */
class TracingHandler implements ProxyHandler<ClientTransport> {
  readonly #tracer: Tracer

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  get(transport: ClientTransport, key: string | symbol): unknown {
    const value: unknown = Reflect.get(transport, key, transport)
    if (typeof value !== 'function') return value
    const call = value.bind(transport)
    if (key === 'send') return this.#traceSend(call)
    if (key === 'sendText' || key === 'sendRequest') return this.#traceText(call)
    return call
  }

  set(transport: ClientTransport, key: string | symbol, value: unknown): boolean {
    if (typeof value !== 'function') return Reflect.set(transport, key, value, transport)
    const call = value as (...args: unknown[]) => unknown
    if (key === 'onmessage') return Reflect.set(transport, key, this.#traceReceived(call), transport)
    if (key === 'onfault') return Reflect.set(transport, key, this.#traceFault(call), transport)
    return Reflect.set(transport, key, value, transport)
  }

  #traceSend(send: Transport['send']): Transport['send'] {
    return (message) => {
      this.#tracer.sent(JSON.stringify(message))
      return send(message)
    }
  }

  #traceText(send: (text: string, request?: OutgoingRequest) => unknown) {
    return (text: string, request?: OutgoingRequest): unknown => {
      this.#tracer.sent(text)
      return send(text, request)
    }
  }

  #traceReceived(receive: (...args: unknown[]) => unknown) {
    return (...args: unknown[]): unknown => {
      this.#tracer.received(args[0])
      return receive(...args)
    }
  }

  #traceFault(refuse: (...args: unknown[]) => unknown) {
    return (...args: unknown[]): unknown => {
      const [fault] = args
      if (fault instanceof Fault) this.#tracer.fault(fault.message)
      return refuse(...args)
    }
  }
}
