export type { ConnectionOptions } from '../store/redis/connections.ts'
export type { RedisEventStoreOptions } from '../store/redis/events.ts'
export { type RedisStore, type RedisStoreOptions, redisStore } from '../store/redis/store.ts'
