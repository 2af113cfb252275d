export { type SqliteStore, type SqliteStoreOptions, sqliteStore } from '../store/sqlite/store.ts'
