export { type TerminalHandlers, type TerminalOptions, terminalHandlers } from '../client/terminal/terminal.ts'
