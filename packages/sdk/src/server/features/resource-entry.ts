import { cacheHintsProblem } from '../../protocol/caching.ts'
import { annotationsProblem } from '../../protocol/content.ts'
import type { Resource, ResourceTemplateInfo } from '../../protocol/resources.ts'
import { isUri, normalizeUri } from '../../protocol/uri.ts'
import { checkItem, defined } from './feature.ts'
import type { ReadResource, ReadTemplate, ResourceConfig, ResourceTemplate } from './resource-config.ts'

/** A registered resource. */
export interface ResourceEntry {
  key: string
  name: string
  enabled: boolean
  definition: Resource
  config: ResourceConfig
  read: ReadResource
}

/** A registered resource template. */
export interface TemplateEntry {
  key: string
  name: string
  enabled: boolean
  definition: ResourceTemplateInfo
  config: ResourceConfig
  template: ResourceTemplate
  read: ReadTemplate
}

/** Checks a resource. */
export function createResource(
  name: string,
  uri: string,
  config: ResourceConfig,
  read: ReadResource,
  enabled: boolean,
): ResourceEntry {
  if (/[{}]/.test(uri)) {
    throw new TypeError(
      `Resource "${name}": "${uri}" is a template. Pass new ResourceTemplate(${JSON.stringify(uri)}).`,
    )
  }
  if (!isUri(uri)) {
    throw new TypeError(
      `Resource "${name}": ${JSON.stringify(uri)} is not a URI. Start with a scheme, for example "notes://today".`,
    )
  }
  checkConfig(name, config, read)
  const definition = { uri, name, ...describeResource(config), ...(config.size !== undefined && { size: config.size }) }
  return { key: normalizeUri(uri), name, enabled, definition, config, read }
}

/** Checks a resource template. */
export function createTemplate(
  name: string,
  template: ResourceTemplate,
  config: ResourceConfig,
  read: ReadTemplate,
  enabled: boolean,
): TemplateEntry {
  const uriTemplate = template.uriTemplate.toString()
  // RFC 3986 section 3.1. A template may also start with a variable.
  if (!/^([a-z][a-z0-9+.-]*:|\{)/i.test(uriTemplate)) {
    throw new TypeError(
      `Resource template "${name}": "${uriTemplate}" does not produce URIs. Start with a scheme, for example "notes://{day}".`,
    )
  }
  checkConfig(name, config, read)
  const definition = { uriTemplate, name, ...describeResource(config) }
  return { key: uriTemplate, name, enabled, definition, config, template, read }
}

function checkConfig(name: string, config: ResourceConfig, read: unknown): void {
  if (typeof read !== 'function')
    throw new TypeError(`Resource "${name}": the fourth argument, the read function, must be a function`)
  checkItem(`Resource "${name}"`, config)
  const problem = cacheHintsProblem(config) ?? annotationsProblem(config.annotations ?? {})
  if (problem !== undefined) throw new TypeError(`Resource "${name}": ${problem}`)
}

/** Returns the members that a resource and a template have in common. */
export function describeResource({ title, description, mimeType, annotations, icons, _meta }: ResourceConfig) {
  return defined({ title, description, mimeType, annotations, icons, _meta })
}
