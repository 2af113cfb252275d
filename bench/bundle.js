import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Returns the size in KB of the program as one minified, gzipped file, including lazily loaded parts. */
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
    // Bundles the installed package, not the sources that the tsconfig.json of the workspace points to.
    tsconfigRaw: '{}',
    external: withZod ? [] : ['zod', 'zod/*'],
  })
  return gzipSync(outputFiles[0].contents, { level: 9 }).length / 1000
}
