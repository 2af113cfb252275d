import type { FileRewrite } from '../file-rewrite.ts'
import type { Handlers } from '../handlers.ts'
export function rewriteFastMcp(_rewrite: FileRewrite, _handlers: Handlers): void {}
