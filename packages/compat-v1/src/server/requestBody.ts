/** The largest request body, in bytes, unless the transport is configured otherwise. */
export const DEFAULT_MAX_REQUEST_BODY_SIZE: number = 4 * 1024 * 1024

/** Messages in one batch. */
export const MAX_BATCH_SIZE = 100

/** Returns the text of the response to a body that is too large. */
export function requestBodyTooLargeMessage(maxBytes: number): string {
  return `Payload Too Large: Request body must not exceed ${maxBytes} bytes`
}

/** Returns the limit for request bodies, or its default. Throws a `RangeError` if it is not a positive number. */
export function resolveMaxRequestBodySize(value: number | undefined): number {
  if (value === undefined) return DEFAULT_MAX_REQUEST_BODY_SIZE
  if (typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY) return value
  throw new RangeError(`maxRequestBodySize must be a positive number of bytes, got ${String(value)}`)
}

/** Reads the body of a request as text. Stops as soon as it is known to be too large. */
export async function readRequestBody(
  request: Request,
  maxBytes: number = DEFAULT_MAX_REQUEST_BODY_SIZE,
): Promise<{ tooLarge: true } | { tooLarge: false; text: string }> {
  if (Number(request.headers.get('content-length')) > maxBytes) return { tooLarge: true }
  const decoder = new TextDecoder()
  let received = 0
  let text = ''
  const reader = request.body?.getReader()
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      received += read.value.byteLength
      if (received > maxBytes) return { tooLarge: true }
      text += decoder.decode(read.value, { stream: true })
    }
  } finally {
    reader?.releaseLock()
  }
  return { tooLarge: false, text: text + decoder.decode() }
}
