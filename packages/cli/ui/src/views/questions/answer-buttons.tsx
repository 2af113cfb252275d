import { useApp } from '../../state/app.ts'
import type { QuestionView } from '../../store/questions.ts'

interface AnswerButtonsProps {
  readonly question: QuestionView
  readonly onAccept: () => void
  readonly acceptLabel?: string
}

/** Accept, decline, or cancel without a decision. */
export function AnswerButtons({ question, onAccept, acceptLabel = 'Accept' }: AnswerButtonsProps) {
  const app = useApp()
  const answer = (action: 'decline' | 'cancel') =>
    void app.run((backend) => backend.answer(question.asked.question, { action }))
  return (
    <div class="actions">
      <button type="button" class="primary" disabled={!app.isLive} onClick={onAccept}>
        {acceptLabel}
      </button>
      <button type="button" disabled={!app.isLive} onClick={() => answer('decline')}>
        Decline
      </button>
      <button type="button" class="quiet" disabled={!app.isLive} onClick={() => answer('cancel')}>
        Cancel
      </button>
    </div>
  )
}
