// Preloaded with `node --import` into servers that choose their port themselves: whatever they ask for, they get a free one
// of this machine only, tell it to the process that started them, and end with it.
import { Server } from 'node:net'

const { listen } = Server.prototype

Server.prototype.listen = function (...args) {
  this.once('listening', () => process.send?.(this.address().port))
  return listen.call(this, 0, '127.0.0.1', ...args.filter((arg) => typeof arg === 'function'))
}

process.on('disconnect', () => process.exit())
