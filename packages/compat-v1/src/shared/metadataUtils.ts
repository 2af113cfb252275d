import type { BaseMetadata } from '../types.ts'

/** The name to show to people: the title, for tools also the title in their annotations, or else the name. */
export function getDisplayName(metadata: BaseMetadata | (BaseMetadata & { annotations?: { title?: string } })): string {
  const annotated = 'annotations' in metadata ? metadata.annotations?.title : undefined
  return metadata.title || annotated || metadata.name
}
