import { beforeEach } from 'vitest'
import { forgetServers } from '../../src/protocol/known-servers.ts'
import { endWithParent } from './end-with-parent.js'

// Vitest does not end its workers when it is interrupted or killed, and a worker keeps alive what its tests started.
endWithParent()

// The operating system gives the port of a closed server to a later one, which need not speak the same era.
beforeEach(forgetServers)
