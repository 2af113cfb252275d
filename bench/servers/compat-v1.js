// The program of official-v1.js, unmodified, on the drop-in package.
import { register } from 'node:module'

register('../alias-hooks.js', import.meta.url)
await import('./official-v1.js')
