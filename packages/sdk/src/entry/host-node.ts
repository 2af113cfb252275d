export { type SqliteAuditOptions, sqliteAudit, sqliteAuditLines } from '../host/audit/sqlite.ts'
export type { ConfigProblem } from '../host/config/problems.ts'
export { type FileAuditOptions, fileAudit, readAuditFiles } from '../host/node/audit-file.ts'
export {
  type ConfigChange,
  type ConfigFileOptions,
  type ConfigWatcher,
  type FindConfigOptions,
  type FoundConfigFile,
  findConfigFiles,
  knownConfigFiles,
  type LoadedConfig,
  readConfigFile,
  type WatchConfigOptions,
  watchConfigFile,
} from '../host/node/config-file.ts'
export { fileHostStore } from '../host/node/host-store-file.ts'
export { type RootWatcher, type WatchRootsOptions, watchRoots } from '../host/node/watch-roots.ts'
export type { RootAccess } from '../host/roots.ts'
