// The API of `@modelcontextprotocol/server/validators/ajv`, and of the same subpath of the client.
export { AjvJsonSchemaValidator } from '@tenon/compat-v1/validation/ajv-provider.js'
