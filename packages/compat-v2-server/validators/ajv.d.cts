export * from '@tenon/compat-v2/validators/ajv'
