import { visiblePieces } from './visible.ts'

/** Text of a server. Characters that cannot be seen are shown as their code points. */
export function Safe({ text, maxChars = 100_000 }: { text: string; maxChars?: number }) {
  const shown = text.length > maxChars ? text.slice(0, maxChars) : text
  return (
    <bdi>
      {visiblePieces(shown).map((piece, index) =>
        typeof piece === 'string' ? (
          piece
        ) : (
          <span class="invisible-char" title={piece.name} key={index}>
            {piece.codePoint}
          </span>
        ),
      )}
      {shown.length < text.length && <span class="dim"> … {text.length - shown.length} more characters</span>}
    </bdi>
  )
}
