import { useMemo, useRef, useState } from 'preact/hooks'
import { isObject } from 'tenon/internal'
import { initialObject } from '../../schema-form/initial-value.ts'
import { resolve } from '../../schema-form/schema.ts'
import { SchemaForm } from '../../schema-form/schema-form.tsx'
import { useApp } from '../../state/app.ts'
import type { QuestionView } from '../../store/questions.ts'
import { Safe } from '../../text/safe.tsx'
import { AnswerButtons } from './answer-buttons.tsx'

/** A form of the server. It can be sent only if it is complete. */
export function FormQuestion({ question }: { question: QuestionView }) {
  const app = useApp()
  const form = useRef<HTMLFormElement>(null)
  const { params } = question.asked.request
  const schema = useMemo(
    () => resolve(params && 'requestedSchema' in params ? params.requestedSchema : {}, {}),
    [params],
  )
  const [value, setValue] = useState<unknown>(() => initialObject(schema, schema))
  const accept = () => {
    if (!form.current?.reportValidity()) return
    const content = isObject(value) ? value : {}
    void app.run((backend) => backend.answer(question.asked.question, { action: 'accept', content }))
  }
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        accept()
      }}
    >
      <p class="question-text">
        <Safe text={params && 'message' in params ? String(params.message) : ''} />
      </p>
      <SchemaForm schema={schema} value={value} onChange={setValue} />
      <AnswerButtons question={question} onAccept={accept} />
    </form>
  )
}
