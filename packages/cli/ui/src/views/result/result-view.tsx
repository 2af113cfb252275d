import { isObject } from 'tenon/internal'
import { Safe } from '../../text/safe.tsx'
import { ResourceContents } from '../resources/resource-contents.tsx'
import { ContentBlock } from './content-block.tsx'
import { JsonTree } from './json-tree.tsx'

interface ResultProps {
  readonly result: unknown
  readonly server: string
  readonly output?: { readonly isValid: boolean; readonly problem?: string | undefined } | undefined
}

/** A result of any method, drawn by what it contains. */
export function ResultView({ result, server, output }: ResultProps) {
  if (!isObject(result)) return <JsonTree value={result} />
  const { content, structuredContent, contents, messages } = result
  if (Array.isArray(messages)) return <Messages messages={messages} server={server} />
  if (Array.isArray(contents)) {
    return (
      <>
        {contents.map((each, index) =>
          isObject(each) ? <ResourceContents key={index} contents={each} /> : <JsonTree key={index} value={each} />,
        )}
      </>
    )
  }
  if (!Array.isArray(content) && structuredContent === undefined) return <JsonTree value={result} />
  return (
    <>
      {structuredContent !== undefined && <Structured value={structuredContent} output={output} />}
      {Array.isArray(content) &&
        content.map((block, index) => <ContentBlock key={index} block={block} server={server} />)}
      {Array.isArray(content) && content.length === 0 && <p class="dim">No content.</p>}
    </>
  )
}

function Structured({ value, output }: { value: unknown; output: ResultProps['output'] }) {
  return (
    <section class="structured" aria-label="Structured content">
      <p class="row">
        <strong>structured</strong>
        {output === undefined ? (
          <span class="dim">no output schema</span>
        ) : output.isValid ? (
          <span class="good">✓ valid against the output schema</span>
        ) : (
          <span class="problem">
            ✗ not valid: <Safe text={output.problem ?? 'unknown reason'} maxChars={1_000} />
          </span>
        )}
      </p>
      <JsonTree value={value} openLevels={3} />
    </section>
  )
}

/** The messages of a prompt. */
function Messages({ messages, server }: { messages: readonly unknown[]; server: string }) {
  return (
    <ol class="plain messages">
      {messages.map((message, index) => (
        <li key={index}>
          {isObject(message) ? (
            <>
              <strong class="role">
                <Safe text={String(message.role)} maxChars={40} />
              </strong>
              {[message.content].flat().map((block, at) => (
                <ContentBlock key={at} block={block} server={server} />
              ))}
            </>
          ) : (
            <JsonTree value={message} />
          )}
        </li>
      ))}
    </ol>
  )
}
