import { isObject } from 'tenon/internal'
import { useApp } from '../state/app.ts'
import type { Item } from '../store/lists.ts'
import { CompletionInput } from './completion-input.tsx'
import { ItemHead } from './item-head.tsx'
import { ItemList, type ItemSource, itemKey, selectedItem } from './item-list.tsx'
import { ListDetail } from './list-detail.tsx'
import { RunHistory } from './tools/run-history.tsx'

const prompts: ItemSource = { list: 'prompts', noun: 'prompt', idKey: 'name' }
const sources: readonly [ItemSource] = [prompts]

/** The prompts of a server, and the one that is selected. */
export function PromptsView({ server }: { server: string }) {
  const { store, ui } = useApp()
  store.lists.changes.watch()
  const key = selectedItem(ui, server, 'prompts').value
  const prompt = store.lists.find(server, 'prompts', (item) => itemKey(prompts, item) === key)
  return (
    <ListDetail server={server} noun="prompts" list={<ItemList server={server} sources={sources} />}>
      {prompt ? <PromptView key={key} server={server} prompt={prompt} /> : <p class="empty">Choose a prompt.</p>}
    </ListDetail>
  )
}

function PromptView({ server, prompt }: { server: string; prompt: Item }) {
  const app = useApp()
  const name = String(prompt.name)
  const values = app.ui.kept<Record<string, string>>(`${server} prompt ${name}`, () => ({}))
  const get = () => {
    const filled = Object.fromEntries(Object.entries(values.value).filter(([, value]) => value !== ''))
    void app.operate(server, { method: 'prompts/get', params: { name, arguments: filled } })
  }
  return (
    <article class="prompt">
      <ItemHead item={prompt} idKey="name" />
      {argumentsOf(prompt).map((argument) => (
        <CompletionInput
          key={argument.name}
          server={server}
          reference={{ type: 'ref/prompt', name }}
          name={argument.name}
          description={argument.description}
          isRequired={argument.isRequired}
          value={values.value[argument.name] ?? ''}
          others={Object.fromEntries(
            Object.entries(values.value).filter(([key, value]) => key !== argument.name && value),
          )}
          onChange={(value) => (values.value = { ...values.value, [argument.name]: value })}
        />
      ))}
      <div class="call-row">
        <button type="button" class="primary" disabled={!app.isLive} onClick={get}>
          Get prompt
        </button>
      </div>
      <RunHistory server={server} method="prompts/get" isMine={(params) => params.name === name} />
    </article>
  )
}

interface PromptArgument {
  readonly name: string
  readonly description?: string | undefined
  readonly isRequired: boolean
}

function argumentsOf(prompt: Item): PromptArgument[] {
  if (!Array.isArray(prompt.arguments)) return []
  return prompt.arguments.filter(isObject).map(({ name, description, required }) => ({
    name: String(name),
    description: typeof description === 'string' ? description : undefined,
    isRequired: required === true,
  }))
}
