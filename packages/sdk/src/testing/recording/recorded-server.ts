import type { Target } from '../../connect/connect.ts'
import type { ClientTransport } from '../../protocol/transport.ts'
import type { Transcript } from '../transcript.ts'
import { recordServer } from './record-server.ts'
import { type ReplayOptions, replayServer } from './replay-server.ts'

/** Options of `recordedServer`. */
export interface RecordedOptions extends ReplayOptions {
  /** Whether to talk to the real server and record. Default: whether the environment variable TENON_RECORD is set. */
  record?: boolean | undefined
}

/**
 * Replays a recording, or makes it again if the environment variable TENON_RECORD is set. So one test does both.
 *
 * @example
 * await using client = await connect(await recordedServer('https://example.com/mcp', 'fixtures/example.jsonl'))
 */
export async function recordedServer(
  target: Target,
  path: string,
  options: RecordedOptions = {},
): Promise<ClientTransport & { readonly transcript: Transcript }> {
  const { record = Boolean(process.env.TENON_RECORD) } = options
  return record ? recordServer(target, path, options) : replayServer(path, options)
}
