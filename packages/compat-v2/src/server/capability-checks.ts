import { SdkError, SdkErrorCode } from '../core/errors.ts'
import type { ClientCapabilities, ServerCapabilities } from '../core/types.ts'

/** Throws if a request needs a capability that the client did not declare. */
export function checkRequested(method: string, client: ClientCapabilities | undefined): void {
  const needs: Record<string, [unknown, string]> = {
    'sampling/createMessage': [client?.sampling, 'sampling'],
    'elicitation/create': [client?.elicitation, 'elicitation'],
    'roots/list': [client?.roots, 'listing roots'],
  }
  check(method, needs, 'Client')
}

/** Throws if a notification needs a capability that the server, or its client, did not declare. */
export function checkNotified(
  method: string,
  server: ServerCapabilities,
  client: ClientCapabilities | undefined,
): void {
  const needs: Record<string, [unknown, string]> = {
    'notifications/message': [server.logging, 'logging'],
    'notifications/resources/updated': [server.resources, 'notifying about resources'],
    'notifications/resources/list_changed': [server.resources, 'notifying about resources'],
    'notifications/tools/list_changed': [server.tools, 'notifying of tool list changes'],
    'notifications/prompts/list_changed': [server.prompts, 'notifying of prompt list changes'],
  }
  check(method, needs, 'Server')
  check(method, { 'notifications/elicitation/complete': [client?.elicitation?.url, 'URL elicitation'] }, 'Client')
}

/** Throws if a handler is set for a feature that the server does not declare. */
export function checkHandledMethod(method: string, server: ServerCapabilities): void {
  const needs: Record<string, [unknown, string]> = {
    'completion/complete': [server.completions, 'completions'],
    'logging/setLevel': [server.logging, 'logging'],
    'prompts/get': [server.prompts, 'prompts'],
    'prompts/list': [server.prompts, 'prompts'],
    'resources/list': [server.resources, 'resources'],
    'resources/templates/list': [server.resources, 'resources'],
    'resources/read': [server.resources, 'resources'],
    'tools/call': [server.tools, 'tools'],
    'tools/list': [server.tools, 'tools'],
  }
  check(method, needs, 'Server')
}

function check(method: string, needs: Record<string, [unknown, string]>, side: string): void {
  const need = Object.hasOwn(needs, method) ? needs[method] : undefined
  if (!need || need[0]) return
  throw new SdkError(
    SdkErrorCode.CapabilityNotSupported,
    `${side} does not support ${need[1]} (required for ${method})`,
  )
}
