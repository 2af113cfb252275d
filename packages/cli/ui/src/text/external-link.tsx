import { Safe } from './safe.tsx'

/** The full address of a link. It can be opened only if it is a web page, and only by the user, in a new tab. */
export function ExternalLink({ url, label }: { url: string; label?: string }) {
  if (!isWebPage(url)) {
    return (
      <span class="address">
        <Safe text={url} />
      </span>
    )
  }
  return (
    <a class="address" href={url} target="_blank" rel="noopener noreferrer">
      {label ? `${label}: ` : ''}
      <Safe text={url} />
    </a>
  )
}

export function isWebPage(url: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(url).protocol)
  } catch {
    return false
  }
}
