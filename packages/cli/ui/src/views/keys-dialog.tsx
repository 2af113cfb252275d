import { Modal } from './modal.tsx'

const keys: readonly [string, string][] = [
  ['/', 'Search the list in view'],
  ['↑ ↓ Page Up Page Down Home End', 'Move in a list'],
  ['Enter', 'Go from a list to the selected item, and read a resource. On a border: restore its place'],
  ['← → ↑ ↓', 'Move a border that has the focus'],
  ['Ctrl or ⌘ + Enter', 'Log in, call the tool, read the resource, accept the question'],
  ['Shift + Enter', 'Add a line to a text field'],
  ['Ctrl or ⌘ + J', 'Switch between the form and the raw JSON'],
  ['w', 'Go to the wire, and back'],
  ['c', 'Connect a server'],
  ['?', 'Show these keys'],
  ['Esc', 'Close a dialog, a message, the comparison. On a narrow screen: back to the list'],
]

/** The keys of the page. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Modal title="Keys" onClose={onClose}>
      <dl class="facts keys">
        {keys.map(([key, effect]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd class="sentence">{effect}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  )
}
