import { useApp } from '../../state/app.ts'
import type { Item } from '../../store/lists.ts'
import { Safe } from '../../text/safe.tsx'
import { expand, variablesOf } from '../../text/uri-template.ts'
import { CompletionInput } from '../completion-input.tsx'
import { ItemHead } from '../item-head.tsx'
import { ReadResource } from './resource-view.tsx'

/** A template: fill in its variables, with completion, and read the resource. */
export function TemplateView({ server, template }: { server: string; template: Item }) {
  const { ui } = useApp()
  const uriTemplate = String(template.uriTemplate)
  const values = ui.kept<Record<string, string>>(`${server} template ${uriTemplate}`, () => ({}))
  const names = variablesOf(uriTemplate)
  const uri = expand(uriTemplate, values.value)
  return (
    <article class="resource">
      <ItemHead item={template} idKey="uriTemplate" />
      {names.map((name) => (
        <CompletionInput
          key={name}
          server={server}
          reference={{ type: 'ref/resource', uri: uriTemplate }}
          name={name}
          value={values.value[name] ?? ''}
          others={without(values.value, name)}
          onChange={(value) => (values.value = { ...values.value, [name]: value })}
        />
      ))}
      <p class="address">
        <Safe text={uri} maxChars={2_000} />
      </p>
      <ReadResource key={uri} server={server} uri={uri} />
    </article>
  )
}

function without(values: Readonly<Record<string, string>>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([key, value]) => key !== name && value !== ''))
}
