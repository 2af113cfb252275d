/** Whether this runtime may block requests to other origins: a browser, or a worker of one. */
export const CORS_IS_POSSIBLE: boolean = 'document' in globalThis || 'importScripts' in globalThis
