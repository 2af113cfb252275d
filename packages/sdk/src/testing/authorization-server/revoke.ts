import { authenticate } from './client-auth.ts'
import type { Endpoint } from './state.ts'

/** RFC 7009. The response is the same whether the token existed or not. */
export const revoke: Endpoint = async (call, state) => {
  const client = await authenticate(call, state)
  await state.tokens.revoke(call.params.require('token'), client.client_id)
  return { status: 200, headers: { 'cache-control': 'no-store' }, body: '' }
}
