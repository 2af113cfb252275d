/** The requests that one side can run as tasks. */
interface TaskRequestsCapability {
  tools?: { call?: object | undefined } | undefined
  sampling?: { createMessage?: object | undefined } | undefined
  elicitation?: { create?: object | undefined } | undefined
}

/** Throws if tool calls cannot run as tasks. Other methods are not checked. */
export function assertToolsCallTaskCapability(
  requests: TaskRequestsCapability | undefined,
  method: string,
  entityName: 'Server' | 'Client',
): void {
  if (!requests) throw noTasks(entityName, '', method)
  if (method === 'tools/call' && !requests.tools?.call) throw noTasks(entityName, ` for ${method}`, method)
}

/** Throws if sampling or elicitation cannot run as a task. Other methods are not checked. */
export function assertClientRequestTaskCapability(
  requests: TaskRequestsCapability | undefined,
  method: string,
  entityName: 'Server' | 'Client',
): void {
  if (!requests) throw noTasks(entityName, '', method)
  const isMissing =
    (method === 'sampling/createMessage' && !requests.sampling?.createMessage) ||
    (method === 'elicitation/create' && !requests.elicitation?.create)
  if (isMissing) throw noTasks(entityName, ` for ${method}`, method)
}

function noTasks(entityName: string, forMethod: string, method: string): Error {
  return new Error(`${entityName} does not support task creation${forMethod} (required for ${method})`)
}
