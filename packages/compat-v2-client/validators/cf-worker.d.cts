export * from '@tenon/compat-v2/validators/cf-worker'
