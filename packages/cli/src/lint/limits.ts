// Facts about hosts and model APIs. Each one has its source, because they change.

/** MCP 2025-11-25 and 2026-07-28, server/tools, "Tool Names": names should have 1 to 128 characters, these and no others. */
export const specToolName = /^[A-Za-z0-9_.-]{1,128}$/

/** Anthropic: "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'" (github.com/github/copilot-cli/issues/454). */
export const apiNameCharacters = /^[A-Za-z0-9_-]+$/

/** Gemini: must start with a letter or an underscore (github.com/google-gemini/gemini-cli/issues/7869). */
export const geminiNameStart = /^[A-Za-z_]/

/**
 * OpenAI: `FunctionDefinition.name` in the package `openai`. Gemini: the same (github.com/google-gemini/gemini-cli/issues/7869).
 * VS Code: github.com/microsoft/vscode/issues/243602.
 */
export const maxNameLength = 64

/** Cursor hides tools whose server name and tool name have 60 characters or more (github.com/ComposioHQ/composio/issues/2788). */
export const cursorNameLength = 60

/** Anthropic: "Property keys should match pattern" (github.com/freee/freee-mcp/issues/15). */
export const argumentName = /^[a-zA-Z0-9_.-]{1,64}$/

/** OpenAI and VS Code refuse requests with more tools (github.com/microsoft/vscode/issues/337428). */
export const maxTools = 128

/** Cursor warned at 80 in total (github.com/Snowflake-Labs/mcp/issues/77), other editors at 100 (github.com/DaxianLee/cocos-mcp-server/issues/11). */
export const manyTools = 80

/** Cursor sent only the first 40 (github.com/anyproto/anytype-mcp/issues/5); Windsurf took 50 (github.com/Zhwt/go-mcp-mysql/issues/3). */
export const someTools = 40

/** Services that are compatible with OpenAI still have its earlier limit (github.com/run-llama/llama_index/pull/18784). */
export const maxDescriptionChars = 1_024

/** Claude Code warns above this total of all servers (github.com/anthropics/claude-code/issues/12241). */
export const maxTokens = 25_000

/** A single server should leave room for others. */
export const manyTokens = 10_000

/** A tool above this is as large as a small server. */
export const manyToolTokens = 2_000

/** OpenAI, structured outputs: 10 levels; 5 on earlier models (github.com/tidyverse/ellmer/issues/671). */
export const maxSchemaDepth = 10
export const olderSchemaDepth = 5

/**
 * OpenAI, structured outputs: 5,000 properties and 1,000 enum values in all of a schema, and 10 levels
 * (developers.openai.com/api/docs/guides/structured-outputs, as quoted in docs.rs/crate/artifactize-core, `limits.rs`).
 */
export const maxProperties = 5_000
export const maxEnumValues = 1_000
