import { describe, expect, it } from 'vitest'
import { taskStoreContract } from '../../testing/store-contracts/task-store.ts'

import { MemoryTaskStore } from './tasks.ts'

let movedMs = 0
const now = () => Date.now() + movedMs
const advance = (ms: number) => {
  movedMs += ms
}

taskStoreContract({ describe, it, expect }, 'MemoryTaskStore', {
  open: () => new MemoryTaskStore({ now }),
  now,
  advance,
})
