import { connectInMemory, type Target } from '../../connect/connect.ts'
import { redactSecrets } from '../../host/findings/secrets.ts'
import type { ClientTransport } from '../../protocol/transport.ts'
import { StreamableHTTPClientTransport } from '../../transport/http/client/transport.ts'
import { StdioClientTransport } from '../../transport/stdio/client.ts'
import { record, type Transcript } from '../transcript.ts'
import { type RecordedLine, writeRecording } from './recording-file.ts'
import { toStableLines } from './stable-ids.ts'

/** Options of `recordServer`. */
export interface RecordOptions {
  /** Changes each message before it is written, after secrets were redacted. Pass the same function to `replayServer`. */
  redact?: Redaction | undefined
}

/** Changes a message of a recording, for example to remove personal data. Returns the new message. */
export type Redaction = (line: RecordedLine) => RecordedLine

/** A transport to a real server, whose messages are recorded. */
export type RecordingTransport = ClientTransport & { readonly transcript: Transcript }

/**
 * Returns a transport to a real server that writes the conversation to a file when it closes. Keys, tokens and passwords are
 * redacted, and ids are the same in each recording.
 *
 * @example
 * await using client = await connect(await recordServer({ command: 'node', args: ['server.js'] }, 'fixtures/weather.jsonl'))
 * await client.callTool('forecast', { city: 'Oslo' })
 *
 * @param target A URL, a command, a server in this process, or a transport.
 */
export async function recordServer(
  target: Target,
  path: string,
  options: RecordOptions = {},
): Promise<RecordingTransport> {
  const transport = await toTransport(target)
  const transcript = record(transport)
  const close = transport.close.bind(transport)
  transport.close = async () => {
    await close()
    await writeRecording(path, toStableLines(transcript.lines).map(createRedaction(options.redact)))
  }
  return Object.assign(transport, { transcript })
}

/** Removes secrets, and then what the user wants to be removed. */
export function createRedaction(redact: Redaction | undefined): Redaction {
  return (line) => {
    const clean = redactSecrets(line) as RecordedLine
    return redact ? redact(clean) : clean
  }
}

async function toTransport(target: Target): Promise<ClientTransport> {
  if (typeof target === 'string' || target instanceof URL) return new StreamableHTTPClientTransport(target)
  if ('command' in target) return new StdioClientTransport(target)
  return 'start' in target ? target : connectInMemory(target)
}
