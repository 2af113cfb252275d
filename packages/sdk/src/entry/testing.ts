export type { ClientMetadata, RegisteredClient } from '../testing/authorization-server/clients.ts'
export type { AlteredReply, Fault, Faults } from '../testing/authorization-server/faults.ts'
export type {
  AuthorizationServerOptions,
  ClientAuthMethod,
  MetadataDocuments,
  TrustedIssuer,
} from '../testing/authorization-server/options.ts'
export {
  type ReceivedRequest,
  startAuthorizationServer,
  type TestAuthorizationServer,
  type TokenDescription,
} from '../testing/authorization-server/server.ts'
export type { EndpointName } from '../testing/authorization-server/state.ts'
export {
  type EveryWireOptions,
  everyWire,
  type Pair,
  type TestRunner,
  type Wire,
  type WireOptions,
  type WireTransport,
  wires,
} from '../testing/every-wire.ts'
export { Judge, OfficialSchema } from '../testing/official-schemas.ts'
export type { AskedQuestion } from '../testing/questions.ts'
export {
  type RecordingTransport,
  type RecordOptions,
  type Redaction,
  recordServer,
} from '../testing/recording/record-server.ts'
export { type RecordedOptions, recordedServer } from '../testing/recording/recorded-server.ts'
export type { RecordedLine } from '../testing/recording/recording-file.ts'
export { ReplayedServer, type ReplayOptions, replayServer } from '../testing/recording/replay-server.ts'
export { ScriptedClient, type ScriptOptions } from '../testing/scripted-client.ts'
export { type ScriptedAnswer, ScriptedServer } from '../testing/scripted-server.ts'
export { type BusDriver, busContract } from '../testing/store-contracts/bus.ts'
export { type EventStoreDriver, eventStoreContract } from '../testing/store-contracts/event-store.ts'
export { type SessionStoreDriver, sessionStoreContract } from '../testing/store-contracts/session-store.ts'
export type { Driver, TestRunner as ContractRunner } from '../testing/store-contracts/suite.ts'
export { taskStoreContract } from '../testing/store-contracts/task-store.ts'
export type { TaskStoreDriver } from '../testing/store-contracts/task-store-suite.ts'
export { type ValueStoreDriver, valueStoreContract } from '../testing/store-contracts/value-store.ts'

export { type Line, record, Transcript } from '../testing/transcript.ts'
export { InMemoryTransport } from '../transport/memory/memory.ts'
