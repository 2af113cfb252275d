import { Safe } from '../../text/safe.tsx'
import { LargeText } from '../result/large-text.tsx'
import { Audio, Blob64, Image } from '../result/media.tsx'
import { TextBlock } from '../result/text-block.tsx'
import { AppResource } from './app-resource.tsx'

/** What a resource contains: text, or data in base64. */
export function ResourceContents({ contents }: { contents: Readonly<Record<string, unknown>> }) {
  const uri = String(contents.uri ?? '')
  const mimeType = typeof contents.mimeType === 'string' ? contents.mimeType : ''
  return (
    <section class="resource-contents" aria-label="Resource">
      <p class="dim">
        <span class="address">
          <Safe text={uri} maxChars={2_000} />
        </span>{' '}
        <Safe text={mimeType} maxChars={100} />
      </p>
      <Body uri={uri} mimeType={mimeType} text={contents.text} blob={contents.blob} />
    </section>
  )
}

function Body(props: { uri: string; mimeType: string; text: unknown; blob: unknown }) {
  const { uri, mimeType, text, blob } = props
  if (typeof text === 'string' && uri.startsWith('ui://')) return <AppResource uri={uri} source={text} />
  if (typeof text === 'string') {
    if (/json/.test(mimeType)) return <LargeText text={pretty(text)} />
    return <TextBlock text={text} isMarkdown={/markdown/.test(mimeType)} />
  }
  if (typeof blob !== 'string') return <p class="dim">Empty.</p>
  const media = { base64: blob, mimeType, label: uri }
  if (mimeType.startsWith('image/')) return <Image {...media} />
  return mimeType.startsWith('audio/') ? <Audio {...media} /> : <Blob64 {...media} />
}

function pretty(text: string): string {
  if (text.length > 256 * 1024) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
