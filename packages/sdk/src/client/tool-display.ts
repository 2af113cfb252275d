import type { Tool, ToolAnnotations } from '../protocol/tools.ts'

/** What to call a tool in front of people: its title, the title among its annotations, or its name. */
export function displayName(tool: Pick<Tool, 'name' | 'title' | 'annotations'>): string {
  return tool.title ?? tool.annotations?.title ?? tool.name
}

/** What a tool claims about its behaviour, with what its silence means. Claims of a server you do not trust prove nothing. */
export function hintsOf({ annotations = {} }: Pick<Tool, 'annotations'>): Required<Omit<ToolAnnotations, 'title'>> {
  return {
    readOnlyHint: annotations.readOnlyHint ?? false,
    destructiveHint: annotations.destructiveHint ?? true,
    idempotentHint: annotations.idempotentHint ?? false,
    openWorldHint: annotations.openWorldHint ?? true,
  }
}
