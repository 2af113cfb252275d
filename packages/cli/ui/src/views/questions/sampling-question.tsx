import { useState } from 'preact/hooks'
import { isObject } from 'tenon/internal'
import { useApp } from '../../state/app.ts'
import type { QuestionView } from '../../store/questions.ts'
import { Safe } from '../../text/safe.tsx'
import { ContentBlock } from '../result/content-block.tsx'
import { JsonTree } from '../result/json-tree.tsx'
import { AnswerButtons } from './answer-buttons.tsx'

/** A request to the client's model. The user answers in place of the model. */
export function SamplingQuestion({ question }: { question: QuestionView }) {
  const app = useApp()
  const params: Readonly<Record<string, unknown>> = { ...question.asked.request.params }
  const [text, setText] = useState('')
  const [isJson, setIsJson] = useState(false)
  const [model, setModel] = useState('answered-by-hand')
  const [stopReason, setStopReason] = useState('endTurn')
  const answer = () => {
    const content = isJson ? parse(text) : { type: 'text', text }
    if (content === undefined) return app.notify('The content is not JSON.')
    const message = { role: 'assistant' as const, content, model, stopReason }
    void app.run((backend) => backend.answer(question.asked.question, { message }))
  }
  const { messages, systemPrompt, ...rest } = params
  return (
    <>
      {typeof systemPrompt === 'string' && (
        <p class="question-text">
          <strong class="role">system</strong> <Safe text={systemPrompt} />
        </p>
      )}
      <Conversation messages={messages} server={question.asked.server} />
      <details>
        <summary class="dim">Other parameters</summary>
        <JsonTree value={rest} />
      </details>
      <label class="stack">
        Answer of the model
        <textarea
          class={isJson ? 'mono' : undefined}
          rows={3}
          value={text}
          placeholder={isJson ? '{ "type": "text", "text": "…" }' : undefined}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div class="row">
        <label class="row">
          Model
          <input value={model} onInput={(event) => setModel(event.currentTarget.value)} />
        </label>
        <label class="row">
          Stop reason
          <select value={stopReason} onChange={(event) => setStopReason(event.currentTarget.value)}>
            {['endTurn', 'stopSequence', 'maxTokens', 'toolUse'].map((reason) => (
              <option key={reason}>{reason}</option>
            ))}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={isJson} onChange={(event) => setIsJson(event.currentTarget.checked)} />
          content as JSON
        </label>
      </div>
      <AnswerButtons question={question} onAccept={answer} acceptLabel="Answer" />
    </>
  )
}

function Conversation({ messages, server }: { messages: unknown; server: string }) {
  if (!Array.isArray(messages)) return null
  return (
    <ol class="plain messages">
      {messages.filter(isObject).map((message, index) => (
        <li key={index}>
          <strong class="role">
            <Safe text={String(message.role)} maxChars={40} />
          </strong>
          {[message.content].flat().map((block, at) => (
            <ContentBlock key={at} block={block} server={server} />
          ))}
        </li>
      ))}
    </ol>
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
