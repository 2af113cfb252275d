import { useEffect } from 'preact/hooks'
import { useApp } from '../../state/app.ts'
import type { QuestionView } from '../../store/questions.ts'
import { Safe } from '../../text/safe.tsx'
import { FormQuestion } from './form-question.tsx'
import { SamplingQuestion } from './sampling-question.tsx'
import { UrlQuestion } from './url-question.tsx'

/** How many cards are shown at once: a server may ask without end. */
const maxCards = 5

/** Questions of all servers that wait for the user. The board of tasks shows those of its tasks itself. */
export function QuestionCards() {
  const { store, ui } = useApp()
  store.questions.changes.watch()
  store.tasks.changes.watch()
  const server = ui.server.value
  const isOnBoard = ({ asked }: QuestionView) =>
    ui.tab.value === 'tasks' && asked.server === server && store.tasks.ofOperation(asked.operation) !== undefined
  const open = store.questions.open().filter((question) => !isOnBoard(question))
  useCountInTitle(store.questions.open().length)
  if (open.length === 0) return null
  return (
    <section class="question-cards" aria-label="Questions" aria-live="polite">
      {open.slice(0, maxCards).map((question) => (
        <QuestionCard key={question.asked.question} question={question} />
      ))}
      {open.length > maxCards && <p class="dim">{open.length - maxCards} more questions wait.</p>}
    </section>
  )
}

/** A server may ask while the user looks at another tab of the browser. */
function useCountInTitle(count: number): void {
  useEffect(() => {
    document.title = count === 0 ? 'Tenon inspector' : `(${count}) Tenon inspector`
  }, [count])
}

const titles = { form: 'asks you', url: 'asks you to open a page', sampling: 'asks for a completion', other: 'asks' }

/** One question: who asks, the full text, and the ways to answer. */
export function QuestionCard({ question }: { question: QuestionView }) {
  const { store } = useApp()
  const { server, request } = question.asked
  const { name, address } = store.servers.get(server) ?? { name: server, address: '' }
  const kind = kindOf(question)
  return (
    <article class="question-card" aria-label={`Question of ${name}`}>
      <h3>
        <Safe text={name} maxChars={100} /> {titles[kind]}
      </h3>
      <p class="dim address clip">
        <Safe text={address} maxChars={200} />
      </p>
      {kind === 'form' && <FormQuestion question={question} />}
      {kind === 'url' && <UrlQuestion question={question} />}
      {kind === 'sampling' && <SamplingQuestion question={question} />}
      {kind === 'other' && <p class="dim">This page cannot answer {request.method}.</p>}
    </article>
  )
}

function kindOf({ asked: { request } }: QuestionView): keyof typeof titles {
  if (request.method === 'sampling/createMessage') return 'sampling'
  if (request.method !== 'elicitation/create') return 'other'
  return request.params.mode === 'url' ? 'url' : 'form'
}
