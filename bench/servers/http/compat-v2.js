// The program of official-v2.js, unmodified, on the drop-in packages.
import { register } from 'node:module'

register('../../alias-hooks.js', import.meta.url)
await import('./official-v2.js')
