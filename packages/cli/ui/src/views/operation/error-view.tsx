import type { ShownError } from '../../../../src/inspector/protocol.ts'
import { Safe } from '../../text/safe.tsx'
import { JsonTree } from '../result/json-tree.tsx'

/** Why something failed, and the way out. */
export function ErrorView({ error }: { error: ShownError }) {
  return (
    <div class="error-view">
      <p class="problem">
        <code>
          <Safe text={error.code} maxChars={80} />
          {error.rpc && ` ${error.rpc.code}`}
        </code>{' '}
        <Safe text={error.message} maxChars={5_000} />
      </p>
      {error.hint && (
        <p>
          <Safe text={error.hint} maxChars={2_000} />
        </p>
      )}
      {error.rpc?.data !== undefined && <JsonTree value={error.rpc.data} />}
    </div>
  )
}
