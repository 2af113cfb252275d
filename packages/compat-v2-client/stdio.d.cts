export * from '@tenon/compat-v2/client/stdio'
