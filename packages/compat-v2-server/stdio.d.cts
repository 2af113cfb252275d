export * from '@tenon/compat-v2/server/stdio'
