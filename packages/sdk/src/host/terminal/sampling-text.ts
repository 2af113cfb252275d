import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
} from '../../protocol/sampling.ts'
import { omit } from '../../util/objects.ts'
import { random } from '../../util/random.ts'
import type { HostAction, SamplingAction, SamplingResultAction } from '../action.ts'

/** A sampling request or answer as a text that a user can edit. */
export interface EditableText {
  readonly text: string
  /** Returns what the user made of it. Throws if a heading is not in its place. */
  read(edited: string): CreateMessageParams | CreateMessageResult
}

export function isEditable(action: HostAction): action is SamplingAction | SamplingResultAction {
  return action.kind === 'sampling' || action.kind === 'sampling-result'
}

/** The action with what the user made of its request or answer. */
export function withEdited(
  action: SamplingAction | SamplingResultAction,
  edited: CreateMessageParams | CreateMessageResult,
): SamplingAction | SamplingResultAction {
  return action.kind === 'sampling'
    ? { ...action, request: edited as CreateMessageParams }
    : { ...action, result: edited as CreateMessageResult }
}

/** One section for each text, under a heading that no text of a server can contain. */
export function toEditableText(action: SamplingAction | SamplingResultAction): EditableText {
  return action.kind === 'sampling' ? requestText(action.request) : resultText(action.result)
}

function requestText(request: CreateMessageParams): EditableText {
  const document = new Document()
  document.add('system prompt', request.systemPrompt ?? '')
  for (const [at, message] of request.messages.entries()) {
    document.addMessage(`message ${at + 1}, ${message.role}`, message)
  }
  document.add('maxTokens', String(request.maxTokens))
  return {
    text: document.text,
    read(edited) {
      const sections = document.read(edited)
      const systemPrompt = sections.take('system prompt')
      const messages = request.messages.flatMap((message, at) => {
        const content = sections.takeMessage(`message ${at + 1}, ${message.role}`, message)
        return content.length > 0 ? [withContent(message, content)] : []
      })
      if (messages.length === 0) throw new Error('There is no message left. Deny the request instead.')
      const maxTokens = Number(sections.take('maxTokens') ?? request.maxTokens)
      if (!Number.isInteger(maxTokens) || maxTokens < 1) throw new Error('maxTokens must be a whole number above 0.')
      return { ...omit(request, ['systemPrompt']), messages, maxTokens, ...(systemPrompt && { systemPrompt }) }
    },
  }
}

function resultText(result: CreateMessageResult): EditableText {
  const document = new Document()
  document.addMessage('answer', result)
  return {
    text: document.text,
    read(edited) {
      const content = document.read(edited).takeMessage('answer', result)
      if (content.length === 0) throw new Error('There is nothing left of the answer. Deny it instead.')
      return withContent(result, content)
    },
  }
}

/** A single block stays one, because revisions before 2025-11-25 have no lists. */
function withContent<T extends Pick<SamplingMessage, 'content'>>(message: T, content: SamplingContent[]): T {
  const [first] = content
  return { ...message, content: Array.isArray(message.content) || !first ? content : first }
}

const help = `Edit the text, save it and close the editor. You are asked again before it is used.
Keep the lines that begin with ">>>>". A section that you remove, or leave empty, is left out.
`

class Document {
  /** A text of a server cannot know it, and so cannot look like a heading. */
  readonly #mark = `>>>> ${random.uuid().slice(0, 8)}`
  readonly #titles: string[] = []
  text = help

  add(title: string, text: string): void {
    this.#titles.push(title)
    this.text += `\n${this.#mark} ${title}\n${text}\n`
  }

  /** Blocks of other kinds than text are not shown, and stay as they are. */
  addMessage(title: string, { content }: Pick<SamplingMessage, 'content'>): void {
    for (const [at, block] of blocksOf(content).entries()) {
      if (block.type === 'text') this.add(`${title}, text ${at + 1}`, block.text)
    }
  }

  read(edited: string): Sections {
    const found = new Map<string, string>()
    const [, ...parts] = edited.replaceAll('\r\n', '\n').split(`\n${this.#mark} `)
    for (const part of parts) {
      const end = part.indexOf('\n')
      const title = end < 0 ? part : part.slice(0, end)
      if (!this.#titles.includes(title) || found.has(title)) throw new Error(`The heading "${title}" was changed.`)
      found.set(title, end < 0 ? '' : part.slice(end + 1).replace(/\n$/, ''))
    }
    return new Sections(found)
  }
}

class Sections {
  readonly #found: ReadonlyMap<string, string>

  constructor(found: ReadonlyMap<string, string>) {
    this.#found = found
  }

  take(title: string): string | undefined {
    return this.#found.get(title)
  }

  takeMessage(title: string, { content }: Pick<SamplingMessage, 'content'>): SamplingContent[] {
    return blocksOf(content).flatMap((block, at): SamplingContent[] => {
      if (block.type !== 'text') return [block]
      const text = this.#found.get(`${title}, text ${at + 1}`)
      return text ? [{ ...block, text }] : []
    })
  }
}

function blocksOf(content: SamplingMessage['content']): readonly SamplingContent[] {
  return Array.isArray(content) ? content : [content]
}
