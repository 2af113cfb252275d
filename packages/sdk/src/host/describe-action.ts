import type { HostAction } from './action.ts'

/** Describes an action in a few words, for errors: `the tool call files_read`. */
export function describeAction(action: HostAction): string {
  const { id } = action.server
  switch (action.kind) {
    case 'connect':
      return `The connection to ${id} (${action.target})`
    case 'definitions':
      return `The use of the ${action.isFirstUse ? '' : 'changed '}definitions of ${id}`
    case 'tool':
      return `The tool call ${action.name}`
    case 'resource':
      return `Reading ${action.uri} of ${id}`
    case 'prompt':
      return `The prompt ${action.prompt} of ${id}`
    case 'roots':
      return `Showing the roots to ${id}`
    case 'sampling':
      return `The sampling request of ${id}`
    case 'sampling-result':
      return `Sending the message of the model to ${id}`
    case 'elicitation':
      return `The question of ${id}`
    case 'result':
      return `The result of ${action.of === 'resource' ? action.name : `${id}_${action.name}`}`
  }
}
