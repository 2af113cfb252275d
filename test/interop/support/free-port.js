// Preloaded with `node --import` into servers that choose their own port: gives them a free port on localhost, reports
// it to the parent process, and exits with the parent.
import { Server } from 'node:net'

const { listen } = Server.prototype

Server.prototype.listen = function (...args) {
  this.once('listening', () => process.send?.(this.address().port))
  return listen.call(this, 0, '127.0.0.1', ...args.filter((arg) => typeof arg === 'function'))
}

process.on('disconnect', () => process.exit())
