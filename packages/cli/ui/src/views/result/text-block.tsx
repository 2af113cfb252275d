import { useState } from 'preact/hooks'
import { Markdown } from '../../text/markdown.tsx'
import { LargeText, maxShownChars } from './large-text.tsx'

/** Text, as it is or as Markdown. */
export function TextBlock({ text, isMarkdown }: { text: string; isMarkdown?: boolean }) {
  const [isRendered, setIsRendered] = useState(isMarkdown ?? looksLikeMarkdown(text))
  const canRender = text.length <= maxShownChars
  return (
    <div class="text-block">
      {canRender && (
        <button
          type="button"
          class="small quiet corner"
          aria-pressed={isRendered}
          onClick={() => setIsRendered(!isRendered)}
        >
          Markdown
        </button>
      )}
      {canRender && isRendered ? <Markdown text={text} /> : <LargeText text={text} />}
    </div>
  )
}

/** A heading, a list, a table, a fence or a link at the beginning of some line. */
function looksLikeMarkdown(text: string): boolean {
  return /^(#{1,6} \S|[-*] \S.*\n[-*] |```|\|.+\|\s*\n\|[ :|-]+\|)|\]\(https?:|\*\*\S/m.test(text.slice(0, 5_000))
}
