import { useState } from 'preact/hooks'
import type { OperationRequest } from '../../../../src/inspector/protocol.ts'
import { useApp } from '../../state/app.ts'
import { Modal } from '../modal.tsx'
import { revisions, toRevision } from '../revisions.ts'

interface CompareDialogProps {
  readonly server: string
  readonly request: OperationRequest
  readonly onClose: () => void
}

/** Chooses two revisions and runs the same call on both. */
export function CompareDialog({ server, request, onClose }: CompareDialogProps) {
  const app = useApp()
  const [first, setFirst] = useState<string>(revisions[1] ?? '')
  const [second, setSecond] = useState<string>(revisions[0] ?? '')
  const run = async (event: Event) => {
    event.preventDefault()
    const comparison = crypto.randomUUID()
    for (const revision of [toRevision(first), toRevision(second)]) {
      const started = await app.operate(server, { ...request, revision, comparison })
      if (started === undefined) return
    }
    app.ui.comparison.value = comparison
    onClose()
  }
  return (
    <Modal title="Compare two revisions" onClose={onClose}>
      <form class="stack" onSubmit={run}>
        <p>The call runs once on each revision, on a connection of its own. Tools with side effects have them twice.</p>
        <RevisionSelect label="Left" value={first} onChange={setFirst} />
        <RevisionSelect label="Right" value={second} onChange={setSecond} />
        <div class="actions">
          <button type="submit" class="primary">
            Run both
          </button>
        </div>
      </form>
    </Modal>
  )
}

function RevisionSelect(props: { label: string; value: string; onChange: (revision: string) => void }) {
  return (
    <label class="stack">
      {props.label}
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {revisions.map((revision) => (
          <option key={revision}>{revision}</option>
        ))}
      </select>
    </label>
  )
}
