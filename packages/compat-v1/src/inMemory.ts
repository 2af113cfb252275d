export { InMemoryTransport } from 'tenon/server'
