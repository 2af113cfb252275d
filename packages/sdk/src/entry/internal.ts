/**
 * Helpers that the packages of this repository share. They are released together and may change in any version: programs must not
 * import this subpath.
 */
export { isLoopbackAddress, isLoopbackHost } from '../util/loopback.ts'
export { isObject, type JsonObject } from '../util/objects.ts'
export { codePointOf, safeJson, safeLine, safePieces, safeText, type TextPiece } from '../util/safe-text.ts'
export { escapePointer, mapSubschemas, resolveLocalRef } from '../util/schema-walk.ts'
export { isSecretName } from '../util/secret-names.ts'
export { columnsOf, startOf, type WrappedLine, wrapLine } from '../util/text-columns.ts'
