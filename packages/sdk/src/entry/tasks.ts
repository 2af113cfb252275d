export type { TaskControl } from '../era/call.ts'
export type { TaskMetrics, TaskPolicy, TaskRuntime } from '../server/task-runtime.ts'
export { MemoryTaskStore, type MemoryTaskStoreOptions } from '../store/memory/tasks.ts'
export type {
  RunTask,
  TaskEntry,
  TaskLimits,
  TaskPosition,
  TaskStore,
  TaskStoreUsage,
  TaskStoreWorker,
  TaskSummary,
  TaskWriteOptions,
  WorkOptions,
} from '../store/ports.ts'
export type { TaskEvent, TaskLifecycleEvent, TaskRefusalEvent, TasksOptions } from '../tasks/options.ts'
export { tasks } from '../tasks/runtime.ts'
