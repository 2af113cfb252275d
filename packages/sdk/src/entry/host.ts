export type {
  ActionServer,
  Approval,
  ApprovalRequest,
  Approve,
  ConnectAction,
  DataFlow,
  Decision,
  DefinitionsAction,
  ElicitationAction,
  GrantDuration,
  HostAction,
  PromptAction,
  ResourceAction,
  RootsAction,
  SamplingAction,
  SamplingResultAction,
  ToolAction,
  Trust,
} from '../host/action.ts'
export type {
  AuditEvent,
  AuditHead,
  AuditLog,
  AuditLogOptions,
  AuditRecord,
  ChainedAuditLog,
  Redact,
} from '../host/audit/audit.ts'
export { type MemoryAudit, memoryAudit } from '../host/audit/memory.ts'
export {
  type AuditProblem,
  type AuditSource,
  type AuditSourceLine,
  type AuditVerification,
  type VerifyAuditOptions,
  verifyAudit,
} from '../host/audit/verify.ts'
export type { HostPrompt, HostTool } from '../host/catalog.ts'
export { type ParseConfigOptions, parseServerConfigs } from '../host/config/parse-config.ts'
export type {
  CommandServerConfig,
  CommonServerConfig,
  LocalServerConfig,
  ServerConfig,
  ServerConfigs,
  UrlServerConfig,
} from '../host/config/server-config.ts'
export type { DefinitionChange } from '../host/definition-diff.ts'
export type { CallEvent, HostEvents, ServerState } from '../host/events.ts'
export type { Finding, FindingRule } from '../host/findings/finding.ts'
export { inspectArguments, inspectDefinitions, inspectResult } from '../host/findings/inspect.ts'
export { redactSecrets } from '../host/findings/secrets.ts'
export { createGateway } from '../host/gateway/gateway.ts'
export type { AccessRule, GatewayOptions } from '../host/gateway/options.ts'
export type { Grant } from '../host/grants.ts'
export { createHost, type Host, type HostResource, type HostResourceTemplate, type ServerStatus } from '../host/host.ts'
export { type HostRecord, type HostStore, memoryHostStore } from '../host/host-store.ts'
export { aiSdk } from '../host/models/ai-sdk.ts'
export { anthropic } from '../host/models/anthropic.ts'
export type { Model, ModelAnswer, ModelRequest } from '../host/models/model.ts'
export { openai } from '../host/models/openai.ts'
export { downlevelSchema } from '../host/models/schema-for.ts'
export { toolResultFor } from '../host/models/tool-result.ts'
export { type ToolFormat, type ToolSet, type ToolsForOptions, toolsFor } from '../host/models/tools-for.ts'
export type { HostInput, HostInputContext, HostLimits, HostOptions } from '../host/options.ts'
export type { Policy, PolicyFunction, PolicyRule } from '../host/policy.ts'
export { bubblewrap, container } from '../host/sandbox/runners.ts'
export type { Launch, Sandbox } from '../host/sandbox/sandbox.ts'
export { type TerminalApprovalOptions, terminalApproval } from '../host/terminal/terminal-approval.ts'
export type { HostCallOptions, HostToolResult, ResultSource } from '../host/tool-calls.ts'
