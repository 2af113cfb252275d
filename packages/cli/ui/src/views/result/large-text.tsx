import { useState } from 'preact/hooks'
import { saveFile } from '../../state/save-file.ts'
import { size } from '../../text/format.ts'
import { Safe } from '../../text/safe.tsx'

/** Text above this is shortened. */
export const maxShownChars = 256 * 1024
/** The browser lays out only the pieces that are in view. */
const pieceChars = 32 * 1024

interface LargeTextProps {
  readonly text: string
  /** The name of the file that "Save" writes. */
  readonly fileName?: string
}

/** Text of a server, as it is. A long one is shortened until the user asks for all of it. */
export function LargeText({ text, fileName = 'text.txt' }: LargeTextProps) {
  const [isWhole, setIsWhole] = useState(false)
  const isLong = text.length > maxShownChars
  const shown = isLong && !isWhole ? text.slice(0, maxShownChars) : text
  return (
    <div class="large-text">
      {isLong && (
        <p class="row">
          {!isWhole && <span class="dim">Shortened.</span>}
          {!isWhole && (
            <button type="button" class="small" onClick={() => setIsWhole(true)}>
              Show all ({size(text.length)})
            </button>
          )}
          <button type="button" class="small" onClick={() => saveFile(fileName, text, 'text/plain')}>
            Save
          </button>
        </p>
      )}
      <pre class="text">
        {isLong ? (
          piecesOf(shown).map(({ at, piece }) => <Piece key={at} text={piece} />)
        ) : (
          <Safe text={shown} maxChars={maxShownChars} />
        )}
      </pre>
    </div>
  )
}

function Piece({ text }: { text: string }) {
  return (
    <span class="piece">
      <Safe text={text} maxChars={pieceChars} />
    </span>
  )
}

function piecesOf(text: string): { at: number; piece: string }[] {
  const pieces = []
  for (let at = 0; at < text.length; at += pieceChars) pieces.push({ at, piece: text.slice(at, at + pieceChars) })
  return pieces
}
