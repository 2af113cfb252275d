export { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
