export { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/client/validators/cf-worker'
