import type { Node } from 'ts-morph'
import type { FileRewrite } from './file-rewrite.ts'

/** A function that does not exist. What it is called with, a person has to rewrite. */
export const sessionStub = 'REPLACE_session_WITH_ctx_auth'

/** Reports that code reads the session of FastMCP, or may do so. */
export function reportSession(rewrite: FileRewrite, use: Node): void {
  rewrite.report(
    use,
    use.getText().split('\n')[0]!,
    'FastMCP has the result of authenticate() in "session" of the context. A check may depend on it, so the program does not compile until you rewrite it.',
    `Use ctx.auth, the identity of the caller (docs/auth-servers.md), and remove ${sessionStub}.`,
  )
}
