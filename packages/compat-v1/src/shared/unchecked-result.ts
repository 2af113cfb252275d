import type { AnySchema } from './zod-reading.ts'

/** Accepts every result. For requests whose results are checked without zod, so that it is not loaded for them. */
export const uncheckedResult: AnySchema = {
  safeParse: (data: unknown) => ({ success: true, data }),
} as unknown as AnySchema
