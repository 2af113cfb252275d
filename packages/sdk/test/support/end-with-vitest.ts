import { endWithParent } from './end-with-parent.js'

// Vitest does not end its workers when it is interrupted or killed, and a worker keeps alive what its tests started.
endWithParent()
