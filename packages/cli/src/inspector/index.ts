// The public subpath `@tenon/cli/inspector`, which `serveHttp({ inspector: true })` of the library loads.
export { createInspector, type Inspector, type InspectorOptions } from './inspector.ts'
export type * from './protocol.ts'
