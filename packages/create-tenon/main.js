#!/usr/bin/env node
// `npm create tenon my-server` runs `tenon init my-server`.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(import.meta.resolve('@tenon/cli/main'))
const child = spawn(process.execPath, [program, 'init', ...process.argv.slice(2)], { stdio: 'inherit' })
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
