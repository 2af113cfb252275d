import { UriTemplate } from 'tenon/server'
import type { Problem, Rule } from './problem.ts'

/** Checks the addresses of resources and templates. */
export const checkResources: Rule = ({ contract: { resources, resourceTemplates } }) => [
  ...[...resources.map(({ uri }) => uri), ...resourceTemplates.map(({ uriTemplate }) => uriTemplate)].flatMap((uri) =>
    /^https?:/i.test(uri) ? [webAddress(`resource ${uri}`)] : [],
  ),
  ...resources.flatMap(({ uri }) => {
    if (URL.canParse(uri)) return []
    const message = 'It is not a valid URI, so clients refuse it.'
    return [invalid(`resource ${uri}`, message, 'Start it with a scheme, such as notes://plan.')]
  }),
  ...resourceTemplates.flatMap(({ uriTemplate }) => {
    const reason = templateProblem(uriTemplate)
    if (reason === undefined) return []
    return [invalid(`resource template ${uriTemplate}`, `It is not a valid URI template: ${reason}`, 'See RFC 6570.')]
  }),
]

function webAddress(where: string): Problem {
  return {
    rule: 'uri-web',
    severity: 'info',
    where,
    path: '',
    message: 'Clients may load a web address themselves instead of asking this server.',
    fix: 'Keep it if the address works without this server. Otherwise use another scheme, such as docs://.',
  }
}

function invalid(where: string, message: string, fix: string): Problem {
  return { rule: 'uri-invalid', severity: 'error', where, path: '', message, fix }
}

function templateProblem(template: string): string | undefined {
  try {
    new UriTemplate(template)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
