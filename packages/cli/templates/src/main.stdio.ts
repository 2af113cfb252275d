#!/usr/bin/env node
import { serveStdio } from 'tenon/server'
import { server } from './server.ts'

await serveStdio(server)
