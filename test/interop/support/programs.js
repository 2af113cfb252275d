import { fileURLToPath } from 'node:url'

/** Returns the command of a server of this folder, in the form that every SDK accepts. */
export function program(file, ...args) {
  return { command: process.execPath, args: [fileURLToPath(new URL(`../${file}`, import.meta.url)), ...args] }
}

/** All handshake revisions, and 2026-07-28. */
export const handshakes = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
export const revisions = [...handshakes, '2026-07-28']

/** Returns whether a process with this id exists. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    if (error.code === 'ESRCH') return false
    throw error
  }
}
