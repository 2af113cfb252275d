import { useApp } from '../state/app.ts'
import { type TaskView, taskStates } from '../store/tasks.ts'
import { clockTime } from '../text/format.ts'
import { Safe } from '../text/safe.tsx'
import { OperationView } from './operation/operation-view.tsx'
import { ProgressBar } from './operation/progress-bar.tsx'
import { QuestionCard } from './questions/question-cards.tsx'

/** The tasks of a server, by state. */
export function TasksBoard({ server }: { server: string }) {
  const { store } = useApp()
  store.tasks.changes.watch()
  store.operations.changes.watch()
  store.questions.changes.watch()
  const tasks = store.tasks.of(server)
  if (tasks.length === 0) return <p class="empty">No tasks. Call a tool as a task to see it here.</p>
  return (
    <div class="board">
      {taskStates.map((state) => {
        const inState = tasks.filter(({ task }) => task.status === state)
        return (
          <section key={state} class="board-column" aria-label={state.replace('_', ' ')}>
            <h3>
              {state.replace('_', ' ')} <span class="count">{inState.length}</span>
            </h3>
            {inState.map((task) => (
              <TaskCard key={task.task.taskId} view={task} />
            ))}
          </section>
        )
      })}
    </div>
  )
}

function TaskCard({ view }: { view: TaskView }) {
  const app = useApp()
  const { task, server, history } = view
  const operation = app.store.operations.get(view.operation)
  const isActive = task.status === 'working' || task.status === 'input_required'
  const questions = app.store.questions
    .open()
    .filter(({ asked }) => asked.operation !== undefined && asked.operation === view.operation)
  const cancel = () => void app.operate(server, { method: 'tasks/cancel', params: { taskId: task.taskId } })
  return (
    <article class="task-card">
      <h4>
        <Safe text={String(operation?.params.name ?? 'Task')} maxChars={100} />
      </h4>
      <p class="dim mono clip">
        <Safe text={task.taskId} maxChars={100} />
      </p>
      {task.statusMessage && (
        <p>
          <Safe text={task.statusMessage} maxChars={500} />
        </p>
      )}
      {isActive && operation?.ended === undefined && operation && <ProgressBar operation={operation} />}
      {questions.map((question) => (
        <QuestionCard key={question.asked.question} question={question} />
      ))}
      {isActive && (
        <button type="button" class="small" disabled={!app.isLive} onClick={cancel}>
          Cancel task
        </button>
      )}
      <details>
        <summary class="dim">History</summary>
        <ol class="plain">
          {history.map((step) => (
            <li key={step.at} class="dim">
              {clockTime(step.at)} {step.status} <Safe text={step.message ?? ''} maxChars={200} />
            </li>
          ))}
        </ol>
      </details>
      {operation?.ended && (
        <details>
          <summary class="dim">Result</summary>
          <OperationView operation={operation.operation} />
        </details>
      )}
    </article>
  )
}
