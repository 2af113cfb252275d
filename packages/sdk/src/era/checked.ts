import { checkParams } from '../protocol/params.ts'
import type { EraMethod } from './server.ts'

/** Each method with the check of its params in front. */
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
