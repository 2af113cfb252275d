import { useState } from 'preact/hooks'
import { useApp } from '../../state/app.ts'
import { Safe } from '../../text/safe.tsx'
import { OperationView } from '../operation/operation-view.tsx'

/** A link to a resource of the server. It is read only when the user asks for it. */
export function ResourceLink({ link, server }: { link: Readonly<Record<string, unknown>>; server: string }) {
  const app = useApp()
  const [operation, setOperation] = useState<string>()
  const uri = String(link.uri ?? '')
  const read = async () => setOperation(await app.operate(server, { method: 'resources/read', params: { uri } }))
  return (
    <div class="resource-link">
      <p class="row">
        <strong>
          <Safe text={String(link.title ?? link.name ?? 'Resource')} maxChars={200} />
        </strong>
        <span class="address">
          <Safe text={uri} maxChars={2_000} />
        </span>
        <button type="button" class="small" disabled={!app.isLive} onClick={read}>
          Read
        </button>
      </p>
      {typeof link.description === 'string' && (
        <p class="dim">
          <Safe text={link.description} maxChars={1_000} />
        </p>
      )}
      {operation && <OperationView operation={operation} />}
    </div>
  )
}
