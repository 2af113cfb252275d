import type { Tool, ToolAnnotations } from '../../protocol/tools.ts'

/** Returns the name of a tool to show to users: its title, the title of its annotations, or its name. */
export function getDisplayName(tool: Pick<Tool, 'name' | 'title' | 'annotations'>): string {
  return tool.title ?? tool.annotations?.title ?? tool.name
}

/** Returns the behaviour hints of a tool, with defaults for missing ones. Do not rely on hints of untrusted servers. */
export function hintsOf({ annotations = {} }: Pick<Tool, 'annotations'>): Required<Omit<ToolAnnotations, 'title'>> {
  return {
    readOnlyHint: annotations.readOnlyHint ?? false,
    destructiveHint: annotations.destructiveHint ?? true,
    idempotentHint: annotations.idempotentHint ?? false,
    openWorldHint: annotations.openWorldHint ?? true,
  }
}
