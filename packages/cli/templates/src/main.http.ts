#!/usr/bin/env node
import { serveHttp } from 'tenon/server'
import { server } from './server.ts'

const { PORT = '3000', HOST = '127.0.0.1', ALLOWED_HOSTS } = process.env

const { url } = await serveHttp(server, {
  port: Number(PORT),
  host: HOST,
  // The public names of this server. Without them, only loopback names and IP addresses are accepted.
  allowedHosts: ALLOWED_HOSTS?.split(','),
})
console.log(`Listening on ${url}`)
