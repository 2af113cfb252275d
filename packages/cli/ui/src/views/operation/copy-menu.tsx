import type { Call } from '../../copy-as/call.ts'
import { toCurl } from '../../copy-as/curl.ts'
import { toTenonCommand } from '../../copy-as/tenon-call.ts'
import { toTypeScript } from '../../copy-as/typescript.ts'
import { testFileName, toVitest } from '../../copy-as/vitest.ts'
import { type App, useApp } from '../../state/app.ts'
import { saveFile } from '../../state/save-file.ts'
import type { OperationView } from '../../store/operations.ts'
import { rpcFacts } from '../../store/rpc.ts'
import { Menu, MenuItem } from '../menu.tsx'

/** Copies a request in another form, or saves it as a test. */
export function CopyMenu({ operation }: { operation: OperationView }) {
  const app = useApp()
  const call = toCall(app, operation)
  if (call === undefined) return null
  const test = toVitest(call)
  return (
    <Menu label="Copy as">
      <CopyItem label="curl" text={toCurl(call)} />
      <CopyItem label="tenon command" text={toTenonCommand(call)} />
      <CopyItem label="TypeScript" text={toTypeScript(call)} />
      <CopyItem label="arguments (JSON)" text={JSON.stringify(call.params.arguments ?? call.params, null, 2)} />
      <MenuItem
        label="Save as test"
        isDisabled={test === undefined}
        onChoose={() => saveFile(testFileName(call), test ?? '', 'text/plain')}
      />
    </Menu>
  )
}

function CopyItem({ label, text }: { label: string; text: string | undefined }) {
  const app = useApp()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text ?? '')
    } catch {
      app.notify('The browser did not allow the page to copy.')
    }
  }
  return <MenuItem label={label} isDisabled={text === undefined} onChoose={copy} />
}

function toCall({ store }: App, operation: OperationView): Call | undefined {
  const server = store.servers.get(operation.server)
  if (server === undefined) return undefined
  const { method, params, ended } = operation
  const revision = operation.revision ?? server.chosenRevision ?? undefined
  const own = operation.messages.find(
    (event) => event.direction === 'sent' && rpcFacts(event.message).method === method,
  )
  const sent = own ?? store.wire.lastPost(operation.server)?.event
  const exchange = store.wire.exchange(sent?.http)
  const pattern = sent && exchange ? { message: sent.message, exchange } : undefined
  return { server, method, params, revision, sent: pattern, result: ended?.result }
}
