// Features that may change.
export * from './tasks/index.ts'
