import { type MarkedToken, marked, type Token, type Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { ExternalLink } from './external-link.tsx'
import { Safe } from './safe.tsx'

const maxChars = 100_000

/**
 * Markdown of a server. It is parsed into tokens and drawn as elements: HTML in it stays text, images are shown as their
 * addresses, and links show where they lead.
 */
export function Markdown({ text }: { text: string }) {
  const tokens = marked.lexer(text.slice(0, maxChars), { gfm: true })
  return (
    <div class="markdown">
      {drawAll(tokens)}
      {text.length > maxChars && <p class="dim">… {text.length - maxChars} more characters</p>}
    </div>
  )
}

function drawAll(tokens: readonly Token[] | undefined): ComponentChildren {
  return tokens?.map((token, index) => <Draw token={token} key={index} />)
}

function Draw({ token }: { token: Token }) {
  // Without extensions, `marked` makes no other tokens.
  const known = token as MarkedToken
  switch (known.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      return <Heading depth={known.depth}>{drawAll(known.tokens)}</Heading>
    case 'paragraph':
      return <p>{drawAll(known.tokens)}</p>
    case 'blockquote':
      return <blockquote>{drawAll(known.tokens)}</blockquote>
    case 'list':
      return <List list={known} />
    case 'code':
      return (
        <pre class="code">
          <Safe text={known.text} />
        </pre>
      )
    case 'table':
      return <Table table={known} />
    case 'hr':
      return <hr />
    case 'strong':
      return <strong>{drawAll(known.tokens)}</strong>
    case 'em':
      return <em>{drawAll(known.tokens)}</em>
    case 'del':
      return <del>{drawAll(known.tokens)}</del>
    case 'codespan':
      return (
        <code>
          <Safe text={known.text} />
        </code>
      )
    case 'br':
      return <br />
    case 'link':
      return (
        <>
          {drawAll(known.tokens)} <ExternalLink url={known.href} />
        </>
      )
    case 'image':
      return (
        <span class="dim">
          [image: <Safe text={known.text} /> <Safe text={known.href} />]
        </span>
      )
    case 'text':
      return 'tokens' in known && known.tokens ? <span>{drawAll(known.tokens)}</span> : <Safe text={known.text} />
    case 'escape':
      return <Safe text={known.text} />
    default:
      return <Safe text={token.raw} />
  }
}

/** Headings of a result are below those of the page. */
function Heading({ depth, children }: { depth: number; children: ComponentChildren }) {
  const Tag = depth <= 1 ? 'h4' : depth === 2 ? 'h5' : 'h6'
  return <Tag>{children}</Tag>
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index}>
      {item.task && <span>{item.checked ? '☑ ' : '☐ '}</span>}
      {drawAll(item.tokens)}
    </li>
  ))
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function Table({ table }: { table: Tokens.Table }) {
  const cells = (row: Tokens.TableCell[], Tag: 'th' | 'td') =>
    row.map((cell, index) => <Tag key={index}>{drawAll(cell.tokens)}</Tag>)
  return (
    <table>
      <thead>
        <tr>{cells(table.header, 'th')}</tr>
      </thead>
      <tbody>
        {table.rows.map((row, index) => (
          <tr key={index}>{cells(row, 'td')}</tr>
        ))}
      </tbody>
    </table>
  )
}
