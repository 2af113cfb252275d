import type { ResultObject } from '../../jsonrpc/message.ts'
import type { InputRequest } from '../../protocol/input.ts'
import type { Approval, ApprovalRequest } from '../action.ts'
import { describeAction } from '../describe-action.ts'

/** The longest arguments that fit into a question. */
const maxArguments = 4_000

/** Asks the caller of a gateway for approval, by a form. Everything but an accepted choice is a denial. */
export async function approveByCaller(
  request: ApprovalRequest,
  ask: (question: InputRequest) => Promise<ResultObject>,
): Promise<Approval> {
  const choices = [...request.choices.filter((choice) => choice !== 'always'), 'deny']
  const { action, content } = await ask({
    method: 'elicitation/create',
    params: {
      message: messageOf(request),
      requestedSchema: {
        type: 'object',
        properties: { decision: { type: 'string', title: 'Allow it?', enum: choices } },
        required: ['decision'],
      },
    },
  })
  const decision = (content as { decision?: unknown } | undefined)?.decision
  const chosen = request.choices.find((choice) => choice !== 'always' && choice === decision)
  return action === 'accept' && chosen !== undefined ? chosen : 'deny'
}

function messageOf({ action, reason, findings }: ApprovalRequest): string {
  const lines = [`${describeAction(action)} needs your approval. ${reason.replace(/\.$/, '')}.`]
  if (action.kind === 'tool') lines.push(`Arguments: ${shorten(JSON.stringify(action.arguments))}`)
  for (const { message, where } of findings) lines.push(`Warning (${where}): ${message}`)
  return lines.join('\n')
}

/** Nobody should approve what they do not see without knowing it. */
function shorten(text: string): string {
  if (text.length <= maxArguments) return text
  return `${text.slice(0, maxArguments)}\n(and ${text.length - maxArguments} more characters that are not shown)`
}
