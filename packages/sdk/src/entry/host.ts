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
  ResultAction,
  RootsAction,
  SamplingAction,
  SamplingResultAction,
  ToolAction,
  Trust,
} from '../host/action.ts'
export type { Approver } from '../host/approver.ts'
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
export type { Definitions } from '../host/definitions.ts'
export type { CallEvent, HostEvents, ServerState } from '../host/events.ts'
export type { Finding, FindingRule } from '../host/findings/finding.ts'
export { inspectArguments, inspectDefinitions, inspectResult } from '../host/findings/inspect.ts'
export { redactSecrets } from '../host/findings/secrets.ts'
export type { OtherServer } from '../host/findings/shadowing.ts'
export { createGateway } from '../host/gateway/gateway.ts'
export type {
  AccessFunction,
  AccessItem,
  AccessRule,
  GatewayCaller,
  GatewayOptions,
  UserTokens,
} from '../host/gateway/options.ts'
export type { Grant } from '../host/grants.ts'
export {
  createHost,
  type Host,
  type HostRequestOptions,
  type HostResource,
  type HostResourceTemplate,
  type ServerStatus,
} from '../host/host.ts'
export type { Roots, Sampling, SessionOptions } from '../host/host-parts.ts'
export { type ApprovedConnection, type HostRecord, type HostStore, memoryHostStore } from '../host/host-store.ts'
export type { ModelSelection } from '../host/models/adapter.ts'
export {
  type AiSdkChoice,
  type AiSdkModel,
  aiSdk,
  type GenerateText,
  type GenerateTextHolder,
  type GenerateTextOptions,
} from '../host/models/ai-sdk.ts'
export {
  type AnthropicClient,
  type AnthropicOptions,
  type AnthropicRequest,
  anthropic,
} from '../host/models/anthropic.ts'
export type { Model, ModelAnswer, ModelRequest, TokenUsage } from '../host/models/model.ts'
export { openai } from '../host/models/openai.ts'
export type {
  OpenAiCallOptions,
  OpenAiChatClient,
  OpenAiChatRequest,
  OpenAiOptions,
  OpenAiParameters,
  OpenAiResponsesClient,
  OpenAiResponsesRequest,
} from '../host/models/openai-parameters.ts'
export type { SchemaNote } from '../host/models/schema/notes.ts'
export type { Restore } from '../host/models/schema/restore.ts'
export type { SchemaTarget } from '../host/models/schema/targets.ts'
export { type DownleveledSchema, downlevelSchema } from '../host/models/schema-for.ts'
export {
  type AiSdkToolOutput,
  type AnthropicImageType,
  type AnthropicResultBlock,
  type OpenAiOutputItem,
  type ToolResultContents,
  type ToolResultFor,
  type ToolResultForOptions,
  type ToolResultInput,
  toolResultFor,
} from '../host/models/tool-result.ts'
export {
  type AiSdkSchema,
  type AiSdkTool,
  type AnthropicTool,
  type ApiTools,
  type CatalogCall,
  type OpenAiResponsesTool,
  type OpenAiTool,
  type ToolDefinition,
  type ToolFormat,
  type ToolNote,
  type ToolSet,
  type ToolsForOptions,
  toolsFor,
} from '../host/models/tools-for.ts'
export type {
  HostInput,
  HostInputContext,
  HostLimits,
  HostOptions,
  HostSampling,
  SamplingContextRequest,
} from '../host/options.ts'
export type { Policy, PolicyFunction, PolicyRule } from '../host/policy.ts'
export { redactTraceEvent } from '../host/redact-trace.ts'
export type { SamplingBudget } from '../host/sampling-budget.ts'
export {
  type BubblewrapOptions,
  bubblewrap,
  type ContainerOptions,
  container,
  type Mount,
} from '../host/sandbox/runners.ts'
export type { Launch, Sandbox } from '../host/sandbox/sandbox.ts'
export type { ResourceUpdate } from '../host/server-subscriptions.ts'
export { type TerminalApprovalOptions, terminalApproval } from '../host/terminal/terminal-approval.ts'
export type { HostCallOptions, HostToolResult, ResultSource } from '../host/tool-calls.ts'
