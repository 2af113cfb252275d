export * from '@tenon/compat-v2/express'
