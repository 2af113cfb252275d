import { useEffect, useState } from 'preact/hooks'
import { base64Size } from '../../text/format.ts'
import { visibleLine } from '../../text/visible.ts'
import { Modal } from '../modal.tsx'

interface MediaProps {
  readonly base64: string
  readonly mimeType: string
  readonly label: string
}

/** An image. SVG runs no scripts and loads nothing as an image. */
export function Image(props: MediaProps) {
  const url = useBlobUrl(props)
  const [size, setSize] = useState<string>()
  const [isFull, setIsFull] = useState(false)
  if (url === undefined) return <BrokenMedia {...props} />
  const label = visibleLine(props.label)
  const measure = ({ naturalWidth, naturalHeight }: HTMLImageElement) =>
    setSize(naturalWidth > 0 ? `${naturalWidth} × ${naturalHeight}` : undefined)
  return (
    <figure>
      <button type="button" class="image" aria-label={`${label}: show in full size`} onClick={() => setIsFull(true)}>
        <img src={url} alt="" onLoad={(event) => measure(event.currentTarget)} />
      </button>
      <MediaCaption {...props} url={url} size={size} />
      {isFull && (
        <Modal title={size ? `${label}, ${size}` : label} isLarge onClose={() => setIsFull(false)}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: The keyboard scrolls what does not fit. */}
          <section class="full-size" aria-label={label} tabIndex={0}>
            <img src={url} alt={label} />
          </section>
        </Modal>
      )}
    </figure>
  )
}

export function Audio(props: MediaProps) {
  const url = useBlobUrl(props)
  if (url === undefined) return <BrokenMedia {...props} />
  return (
    <figure>
      {/* biome-ignore lint/a11y/useMediaCaption: Servers send no captions. */}
      <audio controls src={url} aria-label={visibleLine(props.label)} />
      <MediaCaption {...props} url={url} />
    </figure>
  )
}

/** A file that the page does not show. */
export function Blob64(props: MediaProps) {
  const url = useBlobUrl(props)
  return url === undefined ? <BrokenMedia {...props} /> : <MediaCaption {...props} url={url} />
}

function MediaCaption(props: MediaProps & { url: string; size?: string | undefined }) {
  const { mimeType, base64, url, label, size } = props
  return (
    <figcaption class="dim">
      {visibleLine(mimeType, 80)} · {size && `${size} · `}
      {base64Size(base64)} ·{' '}
      <a href={url} download={fileName(label, mimeType)}>
        Save
      </a>
    </figcaption>
  )
}

function BrokenMedia({ mimeType }: MediaProps) {
  return <p class="problem">The data of this {visibleLine(mimeType, 80)} block is not base64.</p>
}

function useBlobUrl({ base64, mimeType }: MediaProps): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const blob = toBlob(base64, mimeType)
    if (blob === undefined) return setUrl(undefined)
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [base64, mimeType])
  return url
}

/** Only images and audio keep their type: a page of a server must not open with the rights of this one. */
function toBlob(base64: string, mimeType: string): Blob | undefined {
  const type = /^(image|audio)\/[\w.+-]+$/.test(mimeType) ? mimeType : 'application/octet-stream'
  try {
    return new Blob([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))], { type })
  } catch {
    return undefined
  }
}

function fileName(label: string, mimeType: string): string {
  const extension = /^[\w-]+\/([a-z0-9]+)/.exec(mimeType)?.[1] ?? 'bin'
  return `${label.replace(/[^\w-]+/g, '-').slice(0, 60) || 'file'}.${extension}`
}
