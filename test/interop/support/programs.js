import { fileURLToPath } from 'node:url'

/** How to start one of the servers of this folder, as every SDK takes it. */
export function program(file, ...args) {
  return { command: process.execPath, args: [fileURLToPath(new URL(`../${file}`, import.meta.url)), ...args] }
}

/** Every revision with a handshake, and the one without. */
export const handshakes = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
export const revisions = [...handshakes, '2026-07-28']

/** Whether a process with this id is there. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    if (error.code === 'ESRCH') return false
    throw error
  }
}
