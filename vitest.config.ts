import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const entry = (name: string) => new URL(`./packages/sdk/src/entry/${name}.ts`, import.meta.url).pathname
const behindGateway = (name: string) => new URL(`./packages/sdk/test/behind-gateway/${name}`, import.meta.url).pathname

/** Tests that attack a server over HTTP. */
const attacks = [
  'packages/sdk/test/security/{advisories,advisories-messages,flood}.test.ts',
  'packages/sdk/test/transport/http/faults/{abused-sessions,anonymous,bad-bodies,bad-headers,bad-sse-input,body-limits,entry-points,hostile-peers,unread}.test.ts',
  'packages/sdk/test/transport/http/server/{argument-headers,batch,endpoint,guards,headers,request-checks,sessions}.test.ts',
]

/** Fast tests that change or observe what belongs to the whole process, such as its streams, its environment or modules that are loaded again. */
const ownProcess = [
  'packages/cli/test/{inspector-api,list}.test.ts',
  'packages/compat-v1/test/{client/stdio,http/without-initialize,server/stdout,wrappers/transports}.test.ts',
  'packages/compat-v2/test/server/create-mcp-handler.test.ts',
  'packages/sdk/test/auth/{authorization-server-clients,browser,client-login,client-tokens,file-store,ledger-documents,principals,warnings}.test.ts',
  'packages/sdk/test/client/{trace,terminal/turns}.test.ts',
  'packages/sdk/test/era/{deprecated,lifecycle-stateless,states,version-probe}.test.ts',
  'packages/sdk/test/host/{gateway-output,store-processes}.test.ts',
  'packages/sdk/test/security/advisories-clients.test.ts',
  'packages/sdk/test/server/features/{author-helpers,invalid-output,mistakes,schemas}.test.ts',
  'packages/sdk/test/transport/http/server/module-scope.test.ts',
  'packages/sdk/test/transport/stdio/{attacks,bad-server,child-process,line-separators,restart,server-end,shutdown,slow-and-large}.test.ts',
]

/** On an idle machine no fast test needs 10 s. A busy one may take several times as long. */
const fastTimeouts = { testTimeout: 60_000, hookTimeout: 60_000 }

export default defineConfig({
  resolve: {
    alias: [
      { find: /^tenon$/, replacement: entry('index') },
      { find: /^tenon\/client\/terminal$/, replacement: entry('terminal') },
      { find: /^tenon\/host\/node$/, replacement: entry('host-node') },
      { find: /^tenon\/testing\/(.+)$/, replacement: entry('testing-$1') },
      { find: /^tenon\/auth\/(.+)$/, replacement: entry('auth-$1') },
      { find: /^tenon\/stores\/(.+)$/, replacement: entry('stores-$1') },
      { find: /^tenon\/(.+)$/, replacement: entry('$1') },
      {
        find: /^@tenon\/compat-v1\/(.+)\.js$/,
        replacement: new URL('./packages/compat-v1/src/$1.ts', import.meta.url).pathname,
      },
    ],
  },
  test: {
    pool: 'forks',
    setupFiles: [new URL('./packages/sdk/test/kit/setup.ts', import.meta.url).pathname],
    reporters: ['default', './scripts/schema-reporter.ts'],
    // Many tests wait for a socket, a process or a timer, so two workers per core keep the cores busy.
    maxWorkers: 2 * availableParallelism(),
    // The default of one second is too short for a busy machine.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast-shared',
          include: ['packages/*/{src,test,ui/test}/**/*.test.ts'],
          exclude: ['**/*.slow.test.ts', ...ownProcess],
          // Starting a process and loading the sources for each file would take longer than the tests.
          isolate: false,
          setupFiles: [new URL('./packages/sdk/test/kit/shared-worker.ts', import.meta.url).pathname],
          ...fastTimeouts,
        },
      },
      {
        extends: true,
        test: {
          name: 'fast-alone',
          include: ownProcess,
          exclude: ['**/*.slow.test.ts'],
          // A worker is reused only if the next file is of the same project, so one project runs after the other.
          sequence: { groupOrder: 1 },
          ...fastTimeouts,
        },
      },
      {
        extends: true,
        resolve: { alias: [{ find: /^tenon\/server$/, replacement: behindGateway('server.ts') }] },
        test: {
          // The attack tests of servers over HTTP, with a gateway in front of every server.
          name: 'gateway',
          env: { TENON_BEHIND_GATEWAY: '1' },
          include: attacks,
          setupFiles: [behindGateway('setup.ts')],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: ['packages/*/{src,test,ui/test}/**/*.slow.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
