import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** KB of the program as one minified file, gzipped. Parts that load later are in it too. */
export async function bundleSize(program, { withZod }) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(program, import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    legalComments: 'none',
    logLevel: 'error',
    // What users install, not the sources that the workspace's tsconfig.json points to.
    tsconfigRaw: '{}',
    external: withZod ? [] : ['zod', 'zod/*'],
  })
  return gzipSync(outputFiles[0].contents, { level: 9 }).length / 1000
}
