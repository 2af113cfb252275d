import { beforeEach } from 'vitest'
import { forgetEras } from '../../src/era/known-eras.ts'
import { endWithParent } from './end-with-parent.js'

// Vitest does not end its workers when it is interrupted or killed, and a worker keeps alive what its tests started.
endWithParent()

// The operating system gives the port of a closed server to a later one, which need not speak the same era.
beforeEach(forgetEras)
