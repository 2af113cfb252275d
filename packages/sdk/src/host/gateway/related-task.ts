import { metaKeys } from '../../protocol/meta.ts'
import { omit } from '../../util/objects.ts'

/** Removes the id of a task of the server, which means nothing to callers of the gateway. */
export function withoutRelatedTask<T extends { readonly _meta?: object | undefined }>(message: T): T {
  const { _meta } = message
  if (!_meta || !Object.hasOwn(_meta, metaKeys.relatedTask)) return message
  return { ...message, _meta: omit(_meta, [metaKeys.relatedTask]) }
}
