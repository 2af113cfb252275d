import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type { CompleteParams, CompleteResult } from '../../protocol/completion.ts'
import { invalidResult, type Requester } from '../requester.ts'

/** Asks the server to complete an argument of a prompt or a resource template. */
export async function complete(
  requester: Requester,
  params: CompleteParams,
  options?: RequestOptions,
): Promise<CompleteResult['completion']> {
  if ((await requester.facts()).revision.announcesCompletions) await requester.require('completions')
  const result = await requester.call('completion/complete', params, options)
  if (!Array.isArray(result.completion?.values)) throw invalidResult('completion/complete', 'completion.values')
  return result.completion
}
