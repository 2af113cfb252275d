import { isObject } from 'tenon/internal'
import { Safe } from '../../text/safe.tsx'
import { ResourceContents } from '../resources/resource-contents.tsx'
import { ResourceLink } from '../resources/resource-link.tsx'
import { JsonTree } from './json-tree.tsx'
import { Audio, Image } from './media.tsx'
import { TextBlock } from './text-block.tsx'

/** A block of content in a result or a message. */
export function ContentBlock({ block, server }: { block: unknown; server: string }) {
  if (!isObject(block)) return <JsonTree value={block} />
  const { type, text, data, mimeType, resource } = block
  if (type === 'text' && typeof text === 'string') return <TextBlock text={text} />
  if (type === 'image' && typeof data === 'string') {
    return <Image base64={data} mimeType={String(mimeType)} label="Image of the result" />
  }
  if (type === 'audio' && typeof data === 'string') {
    return <Audio base64={data} mimeType={String(mimeType)} label="Audio of the result" />
  }
  if (type === 'resource_link') return <ResourceLink link={block} server={server} />
  if (type === 'resource' && isObject(resource)) return <ResourceContents contents={resource} />
  return (
    <div>
      <p class="dim">
        Block of type <Safe text={String(type)} maxChars={100} />
      </p>
      <JsonTree value={block} />
    </div>
  )
}
