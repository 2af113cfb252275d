import { fileURLToPath } from 'node:url'

/** The command of the server that every gateway over stdio has behind it. */
export const stdioServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../tenon.js', import.meta.url))],
}
