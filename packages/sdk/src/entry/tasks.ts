export type { TaskControl } from '../era/call.ts'
export type { TaskPolicy, TaskRuntime } from '../server/task-runtime.ts'
export { MemoryTaskStore, type MemoryTaskStoreOptions } from '../store/memory/tasks.ts'
export type {
  RunTask,
  TaskEntry,
  TaskLimits,
  TaskPosition,
  TaskStore,
  TaskStoreWorker,
  TaskSummary,
  TaskWriteOptions,
  WorkOptions,
} from '../store/ports.ts'
export type { TaskEvent, TasksOptions } from '../tasks/options.ts'
export { tasks } from '../tasks/runtime.ts'
