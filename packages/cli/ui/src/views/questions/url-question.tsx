import { useApp } from '../../state/app.ts'
import type { QuestionView } from '../../store/questions.ts'
import { ExternalLink } from '../../text/external-link.tsx'
import { Safe } from '../../text/safe.tsx'
import { AnswerButtons } from './answer-buttons.tsx'

/** A page that the server asks the user to open. Only a click on the address opens it. */
export function UrlQuestion({ question }: { question: QuestionView }) {
  const app = useApp()
  const { request, warnings = [] } = question.asked
  const params = request.params
  const url = params && 'url' in params ? String(params.url) : ''
  const accept = () => void app.run((backend) => backend.answer(question.asked.question, { action: 'accept' }))
  return (
    <>
      <p class="question-text">
        <Safe text={params && 'message' in params ? String(params.message) : ''} />
      </p>
      <p class="url-to-open">
        <ExternalLink url={url} />
      </p>
      <p class="dim">
        Host: <strong>{hostOf(url)}</strong>. Nothing is opened unless you click the address. Accept tells the server
        that you agree.
      </p>
      {warnings.length > 0 && (
        <ul class="problem">
          {warnings.map((warning) => (
            <li key={warning}>
              <Safe text={warning} maxChars={500} />
            </li>
          ))}
        </ul>
      )}
      <AnswerButtons question={question} onAccept={accept} />
    </>
  )
}

/** As the browser understands it: names in other scripts appear in Punycode. */
function hostOf(url: string): string {
  try {
    return new URL(url).host || 'none'
  } catch {
    return 'not a URL'
  }
}
