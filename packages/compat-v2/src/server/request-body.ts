export { isJsonContentType } from '@tenon/compat-v1/shared/mediaType.js'

/** The largest request body that is read, in bytes. */
export const DEFAULT_MAX_REQUEST_BODY_SIZE: number = 4 * 1024 * 1024

/** A body as text, unless it is longer than the limit. */
export type BodyText = { tooLarge: true } | { tooLarge: false; text: string }

/** Reads a body as text. Stops as soon as more than the limit has arrived. */
export async function readRequestBody(
  request: Request,
  maxBytes: number = DEFAULT_MAX_REQUEST_BODY_SIZE,
): Promise<BodyText> {
  if (Number(request.headers.get('content-length')) > maxBytes) return { tooLarge: true }
  if (!request.body) return { tooLarge: false, text: '' }
  const decoder = new TextDecoder()
  let size = 0
  let text = ''
  const reader = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { tooLarge: false, text: text + decoder.decode() }
    size += value.byteLength
    if (size > maxBytes) {
      await reader.cancel().catch(() => {})
      return { tooLarge: true }
    }
    text += decoder.decode(value, { stream: true })
  }
}
