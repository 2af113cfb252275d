import { afterAll, beforeEach } from 'vitest'
import { forgetServers } from '../../src/protocol/known-servers.ts'
import { endWithParent } from './end-with-parent.js'
import { endFile } from './file-end.ts'

// Vitest does not end its workers when it is interrupted or killed, and a worker keeps child processes alive.
endWithParent()

// The operating system can reuse the port of a closed server for a later one of another era.
beforeEach(forgetServers)

afterAll(endFile)
