import type { App } from '../state/app.ts'

/**
 * Keys of the whole page: `/` searches the list in view, `w` goes to the wire and back, `c` connects, `?` shows the
 * keys, Ctrl+Enter calls, Esc closes. Dialogs and menus close with Esc by themselves.
 */
export function listenForShortcuts(app: App): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey) return
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) return doMainAction(event)
    if (event.ctrlKey || event.metaKey) return
    if (event.key === 'Escape') closeDetail(app)
    else if (isTyping(event.target) || document.querySelector('dialog[open]')) return
    else if (event.key === '/') focusSearch(event)
    else if (event.key === 'w') toggleWire(app, event)
    else if (event.key === 'c' && app.isLive) open(app, event)
    else if (event.key === '?') app.ui.isShowingKeys.value = true
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

/** Presses the main button of the question or dialog with the focus, or else of what the workspace shows. */
function doMainAction(event: KeyboardEvent): void {
  const near = event.target instanceof Element ? event.target.closest('.question-card, dialog') : null
  const scope = near ?? document.querySelector('.workspace :is(.detail, .login-panel)')
  const button = scope?.querySelector<HTMLButtonElement>('button.primary:not(:disabled)')
  if (!button) return
  event.preventDefault()
  button.click()
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input:not([type=checkbox], [type=radio]), textarea, select')
}

function focusSearch(event: KeyboardEvent): void {
  const column = document.activeElement?.closest('.wire') ?? document.querySelector('.workspace')
  const searches = [...(column?.querySelectorAll<HTMLInputElement>('input[type=search]') ?? [])]
  const all = searches.concat([...document.querySelectorAll<HTMLInputElement>('input[type=search]')])
  const search = all.find((input) => input.offsetParent !== null)
  if (!search) return
  event.preventDefault()
  search.focus()
  search.select()
}

function toggleWire(app: App, event: KeyboardEvent): void {
  event.preventDefault()
  const wire = document.querySelector<HTMLElement>('.wire')
  const isThere = wire?.contains(document.activeElement) === true
  app.ui.pane.value = isThere ? 'workspace' : 'wire'
  const column = isThere ? '.workspace' : '.wire'
  const list = document.querySelector<HTMLElement>(`${column} [role=listbox]`)
  const target = list ?? document.querySelector<HTMLElement>(`${column} :is(input, button)`)
  target?.focus()
  // On a narrow screen the column has yet to appear.
  requestAnimationFrame(() => target?.focus())
}

function open(app: App, event: KeyboardEvent): void {
  event.preventDefault()
  app.ui.connectDraft.value = {}
}

function closeDetail(app: App): void {
  if (document.querySelector('dialog[open], [popover]:popover-open')) return
  if (app.ui.wireRow.value !== undefined) app.ui.wireRow.value = undefined
  else if (app.ui.comparison.value !== undefined) app.ui.comparison.value = undefined
  else if (goBack()) return
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
}

/** From an item to its list, where a narrow column shows one at a time. */
function goBack(): boolean {
  const button = document.querySelector<HTMLElement>('.workspace .back')
  if (!button?.checkVisibility()) return false
  button.click()
  return true
}
