import { checkParams } from '../protocol/params.ts'
import type { EraMethod } from './server.ts'

/** Adds a check of the params to each method. */
export function withCheckedParams(methods: Record<string, EraMethod>): Map<string, EraMethod> {
  return new Map(
    Object.entries(methods).map(([name, method]): [string, EraMethod] => [
      name,
      (exchange) => {
        checkParams(name, exchange.request.params)
        return method(exchange)
      },
    ]),
  )
}
