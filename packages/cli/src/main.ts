#!/usr/bin/env node
import { runCli } from './cli.ts'

// The reader of a pipe may have gone, as in "tenon list ... | head".
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await runCli(process.argv.slice(2))
