import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
  Resource,
} from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import {
  find,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type Registry,
  type ServerExtra,
} from './registered.ts'

/** Lists the enabled resources, and those that templates list. */
export async function listResources(
  resources: Registry<RegisteredResource>,
  templates: Registry<RegisteredResourceTemplate>,
  extra: ServerExtra,
): Promise<ListResourcesResult> {
  const listed: Resource[] = Object.entries(resources)
    .filter(([, resource]) => resource.enabled)
    .map(([uri, { name, metadata }]) => ({ uri, name, ...metadata }))
  for (const { resourceTemplate, metadata } of Object.values(templates)) {
    const result = await resourceTemplate.listCallback?.(extra)
    // What is said of a resource takes precedence over what is said of its template.
    for (const resource of result?.resources ?? []) listed.push({ ...metadata, ...resource })
  }
  return { resources: listed }
}

/** Lists the resource templates. */
export function listResourceTemplates(templates: Registry<RegisteredResourceTemplate>): ListResourceTemplatesResult {
  const resourceTemplates = Object.entries(templates).map(([name, { resourceTemplate, metadata }]) => ({
    name,
    uriTemplate: resourceTemplate.uriTemplate.toString(),
    ...metadata,
  }))
  return { resourceTemplates } as ListResourceTemplatesResult
}

/** Reads a resource: one with this URI, or else of the first template that matches it. */
export async function readResource(
  resources: Registry<RegisteredResource>,
  templates: Registry<RegisteredResourceTemplate>,
  requested: string,
  extra: ServerExtra,
): Promise<ReadResourceResult> {
  const uri = new URL(requested)
  const resource = find(resources, uri.toString())
  if (resource) {
    if (!resource.enabled) throw new McpError(ErrorCode.InvalidParams, `Resource ${uri} disabled`)
    return resource.readCallback(uri, extra)
  }
  for (const template of Object.values(templates)) {
    const variables = template.resourceTemplate.uriTemplate.match(uri.toString())
    if (variables) return template.readCallback(uri, variables, extra)
  }
  throw new McpError(ErrorCode.InvalidParams, `Resource ${uri} not found`)
}
