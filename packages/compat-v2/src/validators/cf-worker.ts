// The API of `@modelcontextprotocol/server/validators/cf-worker`, and of the same subpath of the client.
export {
  CfWorkerJsonSchemaValidator,
  type CfWorkerSchemaDraft,
} from '@tenon/compat-v1/validation/cfworker-provider.js'
